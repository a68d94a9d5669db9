#include "bus/bridge/bridge_module.h"

#include "bus/limits.h"

namespace chela::bus::bridge {
namespace {

constexpr std::string_view kInvokeFormat =
    R"({"type":"object","properties":{"function_id":{"type":"string"},"data":{},)"
    R"("timeout_ms":{"type":"integer","minimum":1}},"required":["function_id"]})";

// What another engine asks of a function here.
Task<Result<std::string>> serve_exposed(Bus& bus, std::string function_id, ServedCall call) {
  const Result<json::Value> result = co_await bus.deliver(
      context_of_bridge(std::move(call.stop)), std::move(function_id), Payload::of_text(std::move(call.data)),
      std::move(call.traceparent), std::move(call.baggage));
  if (!result) co_return fail(result.error());
  co_return result->is_null() ? std::string() : json::write(*result);
}

// What bridge.invoke is told to call.
Result<RemoteCall> call_in(const LocalCall& call) {
  RemoteCall out{.function_id = call.data.string_or("function_id"),
                 .data = "{}",
                 .traceparent = call.traceparent,
                 .baggage = call.baggage,
                 .stop = call.context.stop};
  if (out.function_id.empty() || out.function_id.size() > kMaxIdBytes)
    return fail(Code::kInvalidArgument, "a function_id of 1 to {} bytes is needed", kMaxIdBytes);
  if (const json::Value* data = call.data.find("data")) out.data = json::write(*data);
  const std::int64_t timeout = call.data.int_or("timeout_ms", kRemoteTimeout.count());
  if (timeout < 1 || timeout > kMaxRemoteTimeout.count())
    return fail(Code::kInvalidArgument, "timeout_ms must be 1 to {}", kMaxRemoteTimeout.count());
  out.timeout = std::chrono::milliseconds(timeout);
  return out;
}

Task<Result<json::Value>> invoke(Remote& remote, LocalCall call) {
  Result<RemoteCall> wanted = call_in(call);
  if (!wanted) co_return fail(wanted.error());
  const Result<std::string> result = co_await remote.call(std::move(*wanted));
  if (!result) co_return fail(result.error());
  if (result->empty()) co_return json::Value();
  co_return json::parse(*result);
}

Task<Result<json::Value>> invoke_async(Remote& remote, LocalCall call) {
  Result<RemoteCall> wanted = call_in(call);
  if (!wanted) co_return fail(wanted.error());
  const Result<> told = co_await remote.tell(std::move(*wanted));
  if (!told) co_return fail(told.error());
  co_return json::Value();
}

using Invoke = Task<Result<json::Value>> (*)(Remote&, LocalCall);
Result<> add_invoke(Bus& bus, Remote& remote, std::string id, std::string description, Invoke invoke) {
  return bus.add({.spec = {.id = std::move(id),
                           .description = std::move(description),
                           .request_format = std::string(kInvokeFormat),
                           .response_format = "",
                           .metadata = ""},
                  .handler = [&remote, invoke](LocalCall call) { return invoke(remote, std::move(call)); }});
}

std::string function_in(ConfigReader& reader, std::string_view key, std::string otherwise = {}) {
  std::string id = reader.text(key, otherwise);
  if (id.empty() || id.size() > kMaxIdBytes)
    reader.refuse(key, fmt::format("must be the id of a function, of 1 to {} bytes", kMaxIdBytes));
  return id;
}

Result<> read_expose(ConfigReader& entry, BridgeModule::Options& out) {
  std::string local = function_in(entry, "local_function");
  std::string remote = function_in(entry, "remote_function", local);
  out.expose.push_back({.local = std::move(local), .remote = std::move(remote)});
  return entry.finish();
}

Result<> read_forward(ConfigReader& entry, BridgeModule::Options& out) {
  std::string local = function_in(entry, "local_function");
  std::string remote = function_in(entry, "remote_function");
  const std::int64_t timeout =
      entry.integer("timeout_ms", kRemoteTimeout.count(), 1, kMaxRemoteTimeout.count());
  out.forward.push_back({.local = std::move(local),
                         .remote = remote,
                         .description = fmt::format("{} of another engine", remote),
                         .timeout = std::chrono::milliseconds(timeout)});
  return entry.finish();
}

using ReadEntry = Result<> (*)(ConfigReader&, BridgeModule::Options&);
Result<> read_list(ConfigReader& reader, std::string_view key, ReadEntry read, BridgeModule::Options& out) {
  std::vector<ConfigReader> entries = reader.sections(key);
  if (entries.size() > kMaxPassedOn)
    return fail(Code::kTooLarge, "{}: {}: there are more than {}", reader.where(), key, kMaxPassedOn);
  for (ConfigReader& entry : entries) {
    if (Result<> good = read(entry, out); !good) return good;
  }
  return {};
}

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  Result<BridgeConfig> read = read_bridge_config(config);
  if (!read) return fail(read.error());
  return std::make_unique<BridgeModule>(
      parts.bus,
      make_remote(parts, read->peer,
                  {.where = {},
                   .name = read->service_name.empty() ? "bridge" : read->service_name,
                   .service_id = read->service_id,
                   .service_name = read->service_name}),
      std::move(read->passed_on));
}

}  // namespace

Result<BridgeConfig> read_bridge_config(const json::Value& config) {
  ConfigReader reader("bridge", config);
  BridgeConfig out{.peer = read_peer(reader, "url"), .service_id = reader.text("service_id")};
  out.service_name = reader.text("service_name", out.service_id);
  if (Result<> good = read_list(reader, "expose", read_expose, out.passed_on); !good)
    return fail(good.error());
  if (Result<> good = read_list(reader, "forward", read_forward, out.passed_on); !good)
    return fail(good.error());
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return out;
}

BridgeModule::BridgeModule(Bus& bus, std::unique_ptr<Remote> remote, Options options)
    : bus_(bus), remote_(std::move(remote)), options_(std::move(options)) {}

Task<Result<>> BridgeModule::start() {
  Result<> done = add_invoke(bus_, *remote_, "bridge.invoke", "Calls a function of the other engine", invoke);
  if (done)
    done = add_invoke(bus_, *remote_, "bridge.invoke_async",
                      "Calls a function of the other engine and waits for nothing", invoke_async);
  for (const Forwarded& each : options_.forward) {
    if (done) done = forward(bus_, *remote_, each);
  }
  for (const Exposed& each : options_.expose) {
    remote_->provide(
        each.remote, fmt::format("{} of another engine", each.local),
        [this, local = each.local](ServedCall call) { return serve_exposed(bus_, local, std::move(call)); });
  }
  co_return done;
}

json::Value BridgeModule::status() const {
  return json::Value::object({{"url", remote_->options().where},
                              {"connected", remote_->connected()},
                              {"open_calls", remote_->open_calls()}});
}

ModuleKind kind() {
  return {.names = {"modules::bridge_client::BridgeClientModule", "iii-bridge"},
          .make = make,
          .when = ModuleKind::When::kNamed};
}

}  // namespace chela::bus::bridge
