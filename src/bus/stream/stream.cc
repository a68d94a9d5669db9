#include "bus/stream/stream.h"

namespace chela::bus::stream {
namespace {

using items::Change;
using items::Fields;
using items::Text;

Text text_of(const json::Value* value) {
  return value == nullptr || value->is_null() ? nullptr
                                              : std::make_shared<const std::string>(json::write(*value));
}

}  // namespace

// Two names and the length of one make the name of a group.
items::ItemLimits Streams::limits() { return {.key_bytes = 2 * items::kMaxItemKeyBytes + 8}; }

Streams::Streams(Bus& bus, StreamOptions options, store::OpenRecords open, std::unique_ptr<FarValues> far)
    : bus_(bus),
      options_(std::move(options)),
      open_(std::move(open)),
      far_(std::move(far)),
      values_(bus, limits(), far_.get()),
      triggers_(bus) {
  if (!far_) return;
  hub_.tell_interest(far_.get());
  triggers_.tell_interest(far_.get());
  far_->tell_changes([this](const Place& place, const std::string& item, const Text& envelope) {
    hub_.publish(place, item, envelope);
    const Payload payload = Payload::of_text(*envelope);
    for (const BoundTriggerPtr& trigger : triggers_.of_change(place, item)) bus_.fire(trigger, payload);
  });
}

void Streams::opened() {
  if (far_) far_->start();
}

Task<> Streams::stop() {
  if (far_) co_await far_->stop();
  co_await values_.items().close();
}

Task<Result<>> Streams::start() {
  struct Row {
    std::string_view id;
    std::string_view description;
    Answer answer;
  };
  constexpr Row kRows[] = {
      {"stream::get", "The value of an item, or nothing", &Streams::get},
      {"stream::set", "Sets the value of an item; gives the old one and the new", &Streams::set},
      {"stream::delete", "Deletes an item; gives the value that it had", &Streams::erase},
      {"stream::update",
       "Changes a value by operations (set, merge, increment, decrement, remove, append), at once",
       &Streams::update},
      {"stream::list", "The values of a group", &Streams::list},
      {"stream::list_groups", "The groups of a stream that have items", &Streams::list_groups},
      {"stream::list_all", "All streams with their groups", &Streams::list_all},
      {"stream::send", "Tells who hears of a group something that is not kept", &Streams::send},
  };
  Result<> done = co_await items::open_items(values_.items(), options_.keep, open_);
  for (const Row& row : kRows) {
    if (!done) co_return done;
    done = bus_.add({.spec = {.id = std::string(row.id), .description = std::string(row.description)},
                     .text = [this, id = row.id, answer = row.answer](TextCall call) {
                       return far_ ? ask_far(std::move(call), std::string(id), answer)
                                   : (this->*answer)(std::move(call));
                     }});
  }
  if (done) done = triggers_.add_types();
  co_return done;
}

Task<Result<std::string>> Streams::ask_far(TextCall call, std::string function_id, Answer here) {
  const std::string data(call.data);
  Result<Fields> fields = Fields::read(scanner_, data);
  if (!fields) co_return items::coded(fields.error(), items::kInputError);
  const std::string stream(fields->name_or_none("stream_name").value_or(""));
  const std::string operation = function_id.substr(std::string_view("stream::").size());
  call.data = data;
  if (!values_.override_of(call.context, operation, stream).empty())
    co_return co_await (this->*here)(std::move(call));
  Result<std::string> answer = co_await far_->call({.function_id = function_id,
                                                    .data = data,
                                                    .traceparent = call.traceparent,
                                                    .baggage = call.baggage,
                                                    .stop = call.context.stop});
  // Nothing comes back of what is sent: triggers hear of changes only.
  if (answer && function_id == "stream::send") co_return co_await send(std::move(call));
  co_return answer;
}

json::Value Streams::status() const {
  if (far_) return far_->status();
  return json::Value::object({{"store_method", options_.keep.file.empty() ? "in_memory" : "file_based"},
                              {"subscriptions", hub_.size()},
                              {"triggers", triggers_.size()}});
}

Result<Streams::Target> Streams::target_of(Fields& fields, const TextCall& call,
                                           std::string_view operation) const {
  Target target{.place = {.tenant = viewer_of(call.context.principal).tenant}};
  const Result<std::string_view> stream = fields.name("stream_name");
  if (!stream) return fail(stream.error());
  target.place.stream = *stream;
  if (operation != "list_groups") {
    const Result<std::string_view> group = fields.name("group_id");
    if (!group) return fail(group.error());
    target.place.group = *group;
  }
  if (operation != "list_groups" && operation != "list") {
    const Result<std::string_view> item = fields.name("item_id");
    if (!item) return fail(item.error());
    target.item = *item;
  }
  target.function = values_.override_of(call.context, operation, target.place.stream);
  return target;
}

void Streams::tell(const Target& target, const Text& before, const Text& after, std::string_view traceparent,
                   std::string_view baggage) {
  if (before == nullptr && after == nullptr) return;
  const std::vector<BoundTriggerPtr> triggers = triggers_.of_change(target.place, target.item);
  if (triggers.empty() && !hub_.is_heard(target.place)) return;
  const std::string_view type = before == nullptr ? "create" : after == nullptr ? "delete" : "update";
  auto text = std::make_shared<const std::string>(envelope(
      bus_.clock().now(), target.place, target.item, event_body(type, after == nullptr ? *before : *after)));
  hub_.publish(target.place, target.item, text);
  if (triggers.empty()) return;
  const Payload payload = Payload::of_text(*text);
  for (const BoundTriggerPtr& trigger : triggers) bus_.fire(trigger, payload, traceparent, baggage);
}

Task<Result<>> Streams::settle(Target target, Change& change, const TextCall& call) {
  if (change.durable) {
    Result<> durable = co_await std::move(*change.durable);
    if (!durable) co_return durable;
  }
  tell(target, change.before, change.after, call.traceparent, call.baggage);
  co_return Result<>();
}

Task<Result<std::string>> Streams::by_override(Target target, op::CallContext context, json::Value data,
                                               std::string traceparent, std::string baggage) {
  const Result<json::Value> value = co_await bus_.call(std::move(context), target.function, std::move(data));
  if (!value) co_return fail(value.error());
  tell(target, text_of(value->find("old_value")), text_of(value->find("new_value")), traceparent, baggage);
  co_return value->is_null() ? std::string() : json::write(*value);
}

Task<Result<std::string>> Streams::get(TextCall call) {
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), "STREAM_GET_ERROR");
  Result<Target> target = target_of(*fields, call, "get");
  if (!target) co_return items::coded(target.error(), "STREAM_GET_ERROR");
  if (!target->function.empty())
    co_return co_await values_.call_override(call.context, target->function,
                                             json::parse(call.data).value_or(json::Value()));
  const Text value =
      values_.items().find(target->address(Values::group(target->place.stream, target->place.group)));
  co_return value == nullptr ? std::string() : *value;
}

Task<Result<std::string>> Streams::set(TextCall call) {
  constexpr std::string_view kCode = "STREAM_SET_ERROR";
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), kCode);
  const Result<Target> target = target_of(*fields, call, "set");
  if (!target) co_return items::coded(target.error(), kCode);
  const Result<std::string_view> data = fields->raw({"data", "value"});
  if (!data) co_return items::coded(data.error(), kCode);
  if (!target->function.empty())
    co_return co_await by_override(*target, call.context, json::parse(call.data).value_or(json::Value()),
                                   call.traceparent, call.baggage);
  Result<Change> change =
      values_.items().write(target->address(Values::group(target->place.stream, target->place.group)),
                            std::make_shared<const std::string>(*data));
  if (!change) co_return items::coded(change.error(), kCode);
  const Result<> done = co_await settle(*target, *change, call);
  if (!done) co_return items::coded(done.error(), kCode);
  co_return to_text(*change);
}

Task<Result<std::string>> Streams::erase(TextCall call) {
  constexpr std::string_view kCode = "STREAM_DELETE_ERROR";
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), kCode);
  const Result<Target> target = target_of(*fields, call, "delete");
  if (!target) co_return items::coded(target.error(), kCode);
  if (!target->function.empty())
    co_return co_await by_override(*target, call.context, json::parse(call.data).value_or(json::Value()),
                                   call.traceparent, call.baggage);
  Result<Change> change = values_.items().write(
      target->address(Values::group(target->place.stream, target->place.group)), nullptr);
  if (!change) co_return items::coded(change.error(), kCode);
  const Result<> done = co_await settle(*target, *change, call);
  if (!done) co_return items::coded(done.error(), kCode);
  co_return fmt::format(R"({{"old_value":{}}})", change->before == nullptr ? "null" : *change->before);
}

Task<Result<std::string>> Streams::update(TextCall call) {
  constexpr std::string_view kCode = "STREAM_UPDATE_ERROR";
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), kCode);
  const Result<Target> target = target_of(*fields, call, "update");
  if (!target) co_return items::coded(target.error(), kCode);
  const Result<std::string_view> ops = fields->raw({"ops"});
  if (!ops) co_return items::coded(ops.error(), kCode);
  if (!target->function.empty())
    co_return co_await by_override(*target, call.context, json::parse(call.data).value_or(json::Value()),
                                   call.traceparent, call.baggage);
  Result<Change> change =
      values_.items().update(target->address(Values::group(target->place.stream, target->place.group)), *ops);
  if (!change) co_return items::coded(change.error(), kCode);
  const Result<> done = co_await settle(*target, *change, call);
  if (!done) co_return items::coded(done.error(), kCode);
  co_return to_text(*change);
}

Task<Result<std::string>> Streams::list(TextCall call) {
  constexpr std::string_view kCode = "STREAM_LIST_ERROR";
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), kCode);
  Result<Target> target = target_of(*fields, call, "list");
  if (!target) co_return items::coded(target.error(), kCode);
  if (!target->function.empty())
    co_return co_await values_.call_override(call.context, target->function,
                                             json::parse(call.data).value_or(json::Value()));
  Result<std::string> values =
      values_.items().list(target->place.tenant, Values::group(target->place.stream, target->place.group));
  if (!values) co_return items::coded(values.error(), kCode);
  co_return std::move(*values);
}

Task<Result<std::string>> Streams::list_groups(TextCall call) {
  constexpr std::string_view kCode = "STREAM_LIST_GROUPS_ERROR";
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), kCode);
  Result<Target> target = target_of(*fields, call, "list_groups");
  if (!target) co_return items::coded(target.error(), kCode);
  if (!target->function.empty())
    co_return co_await values_.call_override(call.context, target->function,
                                             json::parse(call.data).value_or(json::Value()));
  Result<std::string> names = items::name_list(values_.groups(target->place.tenant, target->place.stream));
  if (!names) co_return items::coded(names.error(), kCode);
  co_return std::move(*names);
}

Task<Result<std::string>> Streams::list_all(TextCall call) {
  json::Value streams = json::Value::array();
  size_t bytes = 0;
  json::Value* last = nullptr;
  for (const Values::Group& each : values_.all(viewer_of(call.context.principal).tenant)) {
    bytes += each.stream.size() + each.group.size() + 32;
    if (bytes > items::kMaxListBytes)
      co_return items::coded({.code = Code::kTooLarge, .message = "there are too many groups for one list"},
                             "STREAM_LIST_ALL_ERROR");
    if (last == nullptr || last->string_or("id") != each.stream) {
      streams.push_back(json::Value::object({{"id", each.stream}, {"groups", json::Value::array()}}));
      last = &streams.as_array()->back();
    }
    last->find("groups")->push_back(each.group);
  }
  const size_t count = streams.as_array()->size();
  co_return json::write(json::Value::object({{"stream", std::move(streams)}, {"count", count}}));
}

Task<Result<std::string>> Streams::send(TextCall call) {
  constexpr std::string_view kCode = "STREAM_SEND_ERROR";
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), kCode);
  Place place{.tenant = viewer_of(call.context.principal).tenant};
  const Result<std::string_view> stream = fields->name("stream_name");
  if (!stream) co_return items::coded(stream.error(), kCode);
  const Result<std::string_view> group = fields->name("group_id");
  if (!group) co_return items::coded(group.error(), kCode);
  const Result<std::string_view> type = fields->name("type");
  if (!type) co_return items::coded(type.error(), kCode);
  const Result<std::string_view> data = fields->raw({"data"});
  if (!data) co_return items::coded(data.error(), kCode);
  const Result<std::string_view> id = fields->name_or_none("id");
  if (!id) co_return items::coded(id.error(), kCode);
  place.stream = *stream;
  place.group = *group;
  if (!hub_.is_heard(place)) co_return "";
  const std::optional<std::string> item = id->empty() ? std::nullopt : std::optional(std::string(*id));
  hub_.publish(place, item,
               std::make_shared<const std::string>(
                   envelope(bus_.clock().now(), place, item, sent_body(*type, *data))));
  co_return "";
}

}  // namespace chela::bus::stream
