#include "bus/bridge/channel_refs.h"

#include <algorithm>

#include "base/json.h"

namespace chela::bus::bridge {
namespace {

constexpr std::string_view kKey = "access_key";

// As SDKs know one: an object with these keys, wherever it is.
bool has_channel(const json::Value& value) {
  if (const auto* list = value.as_array()) return std::ranges::any_of(*list, has_channel);
  const auto* members = value.as_object();
  if (members == nullptr) return false;
  if (value.find("channel_id") != nullptr && value.find(kKey) != nullptr &&
      value.find("direction") != nullptr)
    return true;
  return std::ranges::any_of(*members, [](const json::Member& each) { return has_channel(each.value); });
}

}  // namespace

Result<> may_cross(std::string_view function_id, std::string_view data) {
  if (data.find(kKey) == std::string_view::npos) return {};
  const Result<json::Value> parsed = json::parse(data);
  if (!parsed) return {};  // the other engine says what is wrong with it
  bool found = false;
  if (const auto* members = parsed->as_object()) {
    const bool request = parsed->find("trigger") != nullptr;
    for (const json::Member& each : *members) {
      const bool of_request = request && (each.key == "request_body" || each.key == "response");
      found = found || (!of_request && has_channel(each.value));
    }
    found = found || (parsed->find("channel_id") != nullptr && has_channel(*parsed));
  } else {
    found = has_channel(*parsed);
  }
  if (found)
    return fail(
        Code::kUnsupported,
        "the call of {} passes a data channel, which ends at its own engine; pass the data itself, or "
        "connect both workers to one engine",
        function_id);
  return {};
}

}  // namespace chela::bus::bridge
