#include "bus/stream/far_values.h"

#include "bus/bridge/forwarding.h"

namespace chela::bus::stream {

using json::Value;

FarValues::FarValues(std::unique_ptr<bridge::Remote> remote, runtime::IdSource& ids)
    : remote_(std::move(remote)), ids_(ids), function_id_("bridge::streams::" + ids.next()) {
  remote_->provide(function_id_, "tells another engine of changes of streams",
                   [this](bridge::ServedCall call) { return changed(std::move(call)); });
}

Task<Result<std::string>> FarValues::show(Place place, std::optional<std::string> item,
                                          std::stop_token stop) {
  Value data = Value::object({{"stream_name", place.stream}, {"group_id", place.group}});
  if (item) data.set("item_id", *item);
  Result<std::string> value = co_await remote_->call({.function_id = item ? "stream::get" : "stream::list",
                                                      .data = json::write(data),
                                                      .stop = std::move(stop)});
  if (value && value->empty()) co_return item ? "null" : "[]";
  co_return value;
}

void FarValues::heard(const std::string& stream) {
  Heard& heard = heard_[stream];
  if (++heard.count > 1) return;
  heard.trigger_id = ids_.next();
  remote_->bind({.id = heard.trigger_id,
                 .type = "stream",
                 .function_id = function_id_,
                 .config = Value::object({{"stream_name", stream}})});
}

void FarValues::unheard(const std::string& stream) {
  const auto found = heard_.find(stream);
  if (found == heard_.end() || --found->second.count > 0) return;
  remote_->release(found->second.trigger_id);
  heard_.erase(found);
}

// The envelope goes on as the bytes it came as.
Task<Result<std::string>> FarValues::changed(bridge::ServedCall call) {
  const Result<Value> envelope = json::parse(call.data);
  if (!envelope) co_return fail(envelope.error());
  const Place place{.tenant = viewer_of(bridge::context_of_bridge({}).principal).tenant,
                    .stream = envelope->string_or("streamName"),
                    .group = envelope->string_or("groupId")};
  on_change_(place, envelope->string_or("id"), std::make_shared<const std::string>(std::move(call.data)));
  co_return std::string();
}

Value FarValues::status() const {
  return Value::object({{"bridge_url", remote_->options().where},
                        {"connected", remote_->connected()},
                        {"heard", heard_.size()}});
}

}  // namespace chela::bus::stream
