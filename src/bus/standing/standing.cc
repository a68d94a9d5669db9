#include "bus/standing/standing.h"

#include <system_error>

#include "bus/config_reader.h"
#include "obs/log.h"
#include "runtime/asio_loop.h"

namespace chela::bus::standing {
namespace {

constexpr std::string_view kSpace = "trigger";
constexpr size_t kPage = 1000;
constexpr std::string_view kDefaultFolder = "./data/trigger_store";
constexpr std::string_view kFile = "triggers.db";

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  ConfigReader reader("engine::triggers", config);
  const std::filesystem::path file = parts.directory / reader.text("file_path", kDefaultFolder) / kFile;
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return std::make_unique<Standing>(
      parts.loop, parts.bus, parts.ids,
      Standing::Options{.file = file, .open = parts.open_records, .restore = parts.restore_rights});
}

std::string text_of(const json::Value* value) {
  return value == nullptr || value->is_null() ? std::string() : json::write(*value);
}

json::Value principal_json(const op::Principal& principal) {
  json::Value permissions = json::Value::array();
  for (const std::string& each : principal.permissions) permissions.push_back(each);
  json::Value out = json::Value::object({{"realm", principal.realm},
                                         {"user", principal.user},
                                         {"permissions", std::move(permissions)},
                                         {"token_id", principal.token_id}});
  if (principal.expires) out.set("expires", *principal.expires);
  return out;
}

op::Principal principal_of(const json::Value& kept) {
  op::Principal principal{.realm = kept.string_or("realm"),
                          .user = kept.string_or("user"),
                          .token_id = kept.string_or("token_id")};
  const json::Value* permissions = kept.find("permissions");
  for (size_t i = 0; permissions && permissions->as_array() && i < permissions->as_array()->size(); ++i) {
    if (const std::string* each = (*permissions->as_array())[i].as_string())
      principal.permissions.insert(*each);
  }
  if (const json::Value* expires = kept.find("expires")) principal.expires = expires->as_int();
  return principal;
}

StandingTrigger trigger_of(std::string id, const json::Value& data, Rights rights) {
  return {.id = std::move(id),
          .type = data.string_or("trigger_type"),
          .function_id = data.string_or("function_id"),
          .config = text_of(data.find("config")),
          .metadata = text_of(data.find("metadata")),
          .rights = std::move(rights)};
}

}  // namespace

Standing::Standing(runtime::EventLoop& loop, Bus& bus, runtime::IdSource& ids, Options options)
    : loop_(loop), bus_(bus), ids_(ids), options_(std::move(options)) {}

Task<Result<>> Standing::start() {
  Result<> done = bus_.add({.spec = {.id = "engine::register_trigger",
                                     .description = "a trigger that outlives its connection and the engine"},
                            .handler = [this](LocalCall call) { return add(std::move(call)); }});
  if (done)
    done = bus_.add({.spec = {.id = "engine::unregister_trigger", .description = "ends such a trigger"},
                     .handler = [this](LocalCall call) { return end(std::move(call)); }});
  if (!done) co_return done;
  std::error_code unreadable;
  if (!std::filesystem::exists(options_.file, unreadable)) co_return Result<>{};
  co_return co_await load();
}

Task<> Standing::stop() {
  stopped_ = true;
  if (records_) co_await records_->close();
}

json::Value Standing::status() const { return json::Value::object({{"triggers", count_}}); }

// Once, whoever comes first: the others wait for it.
Task<Result<>> Standing::open() {
  if (!opening_) {
    opening_ = true;
    Result<std::unique_ptr<store::Records>> opened = co_await options_.open(options_.file);
    opening_ = false;
    if (opened) records_ = std::move(*opened);
    for (const runtime::Completion<bool>& each : std::exchange(waiting_, {})) each.resolve(true);
    if (!opened) co_return fail(opened.error());
    co_return Result<>{};
  }
  const runtime::Completion<bool> done(loop_);
  waiting_.push_back(done);
  co_await done;
  if (!records_) co_return fail(Code::kUnavailable, "the stored triggers could not be opened");
  co_return Result<>{};
}

Task<Result<>> Standing::load() {
  if (Result<> opened = co_await open(); !opened) co_return opened;
  std::optional<store::RecordKey> after;
  for (;;) {
    const Result<std::vector<store::Record>> page =
        co_await records_->scan(std::string(kSpace), after, kPage);
    if (!page) co_return fail(page.error());
    if (page->empty()) co_return Result<>{};
    for (const store::Record& each : *page) {
      after = store::RecordKey{.space = each.space, .key = each.key};
      Result<json::Value> kept = json::parse(each.value);
      if (!kept) co_return fail(Code::kInternal, "the stored trigger {} cannot be read", each.key);
      if (const Result<> revived = co_await revive(each.key, std::move(*kept)); !revived)
        co_return fail(revived.error());
    }
  }
}

// A trigger whose token is no good any more is forgotten; one that its provider refuses is kept for the next start.
Task<Result<>> Standing::revive(std::string id, json::Value kept) {
  const json::Value* owner = kept.find("owner");
  Result<Rights> rights = co_await options_.restore(principal_of(owner == nullptr ? json::Value() : *owner));
  if (!rights && rights.error().code != Code::kUnauthenticated) co_return fail(rights.error());
  if (!rights) {
    log::info("bus", "a standing trigger ends with the token behind it", {{"trigger", id}});
    co_return co_await records_->commit({{.space = std::string(kSpace), .key = id, .value = std::nullopt}});
  }
  if (const Result<> added = bus_.add_standing(trigger_of(id, kept, std::move(*rights))); !added) {
    log::warn("bus", "a standing trigger is refused", {{"trigger", id}, {"reason", added.error().message}});
    co_return Result<>{};
  }
  ++count_;
  co_return Result<>{};
}

Task<Result<json::Value>> Standing::add(LocalCall call) {
  if (stopped_) co_return fail(Code::kUnavailable, "the engine stops");
  if (call.caller && call.caller->session && call.caller->session->calls == Session::Calls::kListed)
    co_return fail(Code::kPermissionDenied, "a connection under rules registers no standing triggers");
  if (call.caller && only_lent(*call.caller, call.context.principal))
    co_return fail(Code::kPermissionDenied,
                   "the rights of {} are lent for the call that is served; a trigger in its name needs the "
                   "permission {}",
                   call.context.principal.user, kDelegatePermission);
  Result<Rights> rights = co_await options_.restore(call.context.principal);
  if (!rights) co_return fail(rights.error());
  if (!records_) {
    if (Result<> opened = co_await open(); !opened) co_return fail(opened.error());
  }
  const std::string id = ids_.next();
  const std::string tenant = viewer_of(call.context.principal).tenant;
  if (Result<> added = bus_.add_standing(trigger_of(id, call.data, std::move(*rights))); !added)
    co_return fail(added.error());
  json::Value kept = json::Value::object({{"owner", principal_json(call.context.principal)}});
  for (const std::string_view key : {"trigger_type", "function_id", "config", "metadata"}) {
    if (const json::Value* value = call.data.find(key)) kept.set(std::string(key), *value);
  }
  const Result<> durable =
      co_await records_->commit({{.space = std::string(kSpace), .key = id, .value = json::write(kept)}});
  if (!durable) {
    bus_.end_standing(tenant, id);
    co_return fail(durable.error());
  }
  ++count_;
  co_return json::Value::object({{"id", id}});
}

Task<Result<json::Value>> Standing::end(LocalCall call) {
  if (stopped_) co_return fail(Code::kUnavailable, "the engine stops");
  const std::string id = call.data.string_or("id");
  const std::string tenant = viewer_of(call.context.principal).tenant;
  if (!bus_.has_standing(tenant, id)) co_return json::Value::object({{"removed", false}});
  if (const Result<> durable =
          co_await records_->commit({{.space = std::string(kSpace), .key = id, .value = std::nullopt}});
      !durable)
    co_return fail(durable.error());
  const bool removed = bus_.end_standing(tenant, id);
  if (removed) --count_;
  co_return json::Value::object({{"removed", removed}});
}

ModuleKind kind() { return {.names = {"engine::triggers"}, .make = make, .when = ModuleKind::When::kAlways}; }

}  // namespace chela::bus::standing
