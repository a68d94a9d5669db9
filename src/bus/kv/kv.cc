#include "bus/kv/kv.h"

#include "bus/items/fields.h"

namespace chela::bus::kv {
namespace {

using items::Change;
using items::Fields;
using items::ItemCall;

Result<ItemCall> item_of(Scanner& scanner, const TextCall& call) {
  return items::read_item(scanner, call, "index", "key");
}

Task<Result<>> settle(Change& change) {
  if (!change.durable) co_return Result<>();
  co_return co_await std::move(*change.durable);
}

}  // namespace

Task<Result<>> Kv::start() {
  Result<> done = co_await items::open_items(items_, keep_, open_);
  struct Row {
    std::string_view id;
    std::string_view description;
    Answer answer;
  };
  constexpr Row kRows[] = {
      {"kv_server::get", "The value of a key, or nothing", &Kv::get},
      {"kv_server::set", "Sets the value of a key; gives the old one and the new", &Kv::set},
      {"kv_server::delete", "Deletes a key; gives the value that it had", &Kv::erase},
      {"kv_server::update", "Changes a value by operations, at once", &Kv::update},
      {"kv_server::list", "The values of an index", &Kv::list},
      {"kv_server::list_keys_with_prefix", "The indexes whose names begin so", &Kv::list_keys},
  };
  for (const Row& row : kRows) {
    if (!done) break;
    done = bus_.add(
        {.spec = {.id = std::string(row.id), .description = std::string(row.description)},
         .text = [this, answer = row.answer](TextCall call) { return (this->*answer)(std::move(call)); }});
  }
  co_return done;
}

Task<> Kv::stop() { return items_.close(); }

json::Value Kv::status() const {
  return json::Value::object(
      {{"store_method", keep_.file.empty() ? "in_memory" : "file_based"}, {"items", items_.size()}});
}

Task<Result<std::string>> Kv::get(TextCall call) {
  const Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "GET_ERROR");
  const items::Text value = items_.find(item->address());
  co_return value == nullptr ? std::string() : *value;
}

Task<Result<std::string>> Kv::set(TextCall call) {
  const Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "SET_ERROR");
  const Result<std::string_view> value = item->fields.raw({"value", "data"});
  if (!value) co_return items::coded(value.error(), "SET_ERROR");
  Result<Change> change = items_.write(item->address(), std::make_shared<const std::string>(*value));
  if (!change) co_return items::coded(change.error(), "SET_ERROR");
  const Result<> done = co_await settle(*change);
  if (!done) co_return items::coded(done.error(), "SET_ERROR");
  co_return to_text(*change);
}

Task<Result<std::string>> Kv::erase(TextCall call) {
  const Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "DELETE_ERROR");
  Result<Change> change = items_.write(item->address(), nullptr);
  if (!change) co_return items::coded(change.error(), "DELETE_ERROR");
  const Result<> done = co_await settle(*change);
  if (!done) co_return items::coded(done.error(), "DELETE_ERROR");
  co_return fmt::format(R"({{"old_value":{}}})", change->before == nullptr ? "null" : *change->before);
}

Task<Result<std::string>> Kv::update(TextCall call) {
  const Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "UPDATE_ERROR");
  const Result<std::string_view> ops = item->fields.raw({"ops"});
  if (!ops) co_return items::coded(ops.error(), "UPDATE_ERROR");
  Result<Change> change = items_.update(item->address(), *ops);
  if (!change) co_return items::coded(change.error(), "UPDATE_ERROR");
  const Result<> done = co_await settle(*change);
  if (!done) co_return items::coded(done.error(), "UPDATE_ERROR");
  co_return to_text(*change);
}

Task<Result<std::string>> Kv::list(TextCall call) {
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), "LIST_ERROR");
  const Result<std::string_view> index = fields->name("index");
  if (!index) co_return items::coded(index.error(), "LIST_ERROR");
  Result<std::string> values = items_.list(viewer_of(call.context.principal).tenant, *index);
  if (!values) co_return items::coded(values.error(), "LIST_ERROR");
  co_return std::move(*values);
}

Task<Result<std::string>> Kv::list_keys(TextCall call) {
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), "LIST_ERROR");
  const Result<std::string_view> prefix = fields->name_or_none("prefix");
  if (!prefix) co_return items::coded(prefix.error(), "LIST_ERROR");
  Result<std::string> names =
      items::name_list(items_.groups(viewer_of(call.context.principal).tenant, *prefix));
  if (!names) co_return items::coded(names.error(), "LIST_ERROR");
  co_return std::move(*names);
}

namespace {

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  ConfigReader reader("kv_server", config);
  items::KeepConfig keep = items::read_keep_config(reader, parts, "kv_store_data.db");
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return std::make_unique<Kv>(parts.bus, std::move(keep), parts.open_records);
}

}  // namespace

ModuleKind kind() { return {.names = {"modules::kv_server::KvServer"}, .make = make}; }

}  // namespace chela::bus::kv
