#include "bus/stream/event.h"

#include "base/json.h"

namespace chela::bus::stream {

std::string envelope(UnixMs now, const Place& place, const std::optional<std::string>& item,
                     std::string_view event) {
  std::string out;
  out.reserve(event.size() + place.stream.size() + place.group.size() + 128);
  out += R"({"type":"stream","timestamp":)";
  out += std::to_string(now);
  out += R"(,"streamName":)";
  json::write_string_to(out, place.stream);
  out += R"(,"groupId":)";
  json::write_string_to(out, place.group);
  out += R"(,"id":)";
  if (item) {
    json::write_string_to(out, *item);
  } else {
    out += "null";
  }
  out += R"(,"event":)";
  out += event;
  out += '}';
  return out;
}

std::string event_body(std::string_view type, std::string_view data) {
  std::string out;
  out.reserve(data.size() + type.size() + 24);
  for (const std::string_view part :
       {std::string_view(R"({"type":")"), type, std::string_view(R"(","data":)"), data})
    out += part;
  out += '}';
  return out;
}

std::string sent_body(std::string_view type, std::string_view data) {
  std::string out = R"({"type":"event","event":{"type":)";
  json::write_string_to(out, type);
  ((out += R"(,"data":)") += data) += "}}";
  return out;
}

std::string unauthorized_body() { return R"({"type":"unauthorized"})"; }

std::string error_body(const Error& error) {
  return fmt::format(R"({{"type":"error","error":{}}})", json::write(json::from_error(error)));
}

}  // namespace chela::bus::stream
