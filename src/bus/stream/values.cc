#include "bus/stream/values.h"

#include "base/strings.h"

namespace chela::bus::stream {

std::string Values::override_of(const op::CallContext& context, std::string_view operation,
                                std::string_view stream) const {
  std::string id = fmt::format("stream::{}({})", operation, stream);
  return bus_.knows(id, viewer_of(context.principal)) ? id : std::string();
}

Task<Result<std::string>> Values::call_override(op::CallContext context, std::string function,
                                                json::Value data) {
  const Result<json::Value> value =
      co_await bus_.call(std::move(context), std::move(function), std::move(data));
  if (!value) co_return fail(value.error());
  co_return value->is_null() ? std::string() : json::write(*value);
}

Task<Result<std::string>> Values::show(op::CallContext context, Place place,
                                       std::optional<std::string> item) {
  std::string function = override_of(context, item ? "get" : "list", place.stream);
  if (!function.empty()) {
    json::Value data = json::Value::object({{"stream_name", place.stream}, {"group_id", place.group}});
    if (item) data.set("item_id", *item);
    Result<std::string> value =
        co_await call_override(std::move(context), std::move(function), std::move(data));
    if (value && value->empty()) co_return item ? "null" : "[]";
    co_return value;
  }
  if (far_ != nullptr) co_return co_await far_->show(place, item, context.stop);
  const std::string name = group(place.stream, place.group);
  if (!item) co_return items_.list(place.tenant, name);
  const items::Text value = items_.find({.tenant = place.tenant, .group = name, .key = *item});
  co_return value == nullptr ? "null" : *value;
}

// The length in front keeps the names of streams from running into those of groups.
std::string Values::prefix(std::string_view stream) { return fmt::format("{}:{}", stream.size(), stream); }

std::vector<std::string_view> Values::groups(std::string_view tenant, std::string_view stream) const {
  const std::string begin = prefix(stream);
  std::vector<std::string_view> names = items_.groups(tenant, begin);
  for (std::string_view& name : names) name.remove_prefix(begin.size());
  return names;
}

std::vector<Values::Group> Values::all(std::string_view tenant) const {
  std::vector<Group> found;
  for (const std::string_view name : items_.groups(tenant)) {
    const size_t colon = name.find(':');
    const size_t length = strings::parse_int<size_t>(name.substr(0, colon)).value_or(0);
    found.push_back({.stream = name.substr(colon + 1, length), .group = name.substr(colon + 1 + length)});
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace chela::bus::stream
