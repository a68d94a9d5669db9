#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace chela::bus::stream {

// A group of a stream of a user.
struct Place {
  std::string tenant;
  std::string stream;
  std::string group;
  auto operator<=>(const Place&) const = default;
};

// What sockets and triggers are told, as JSON text. `event` is one of the bodies below.
std::string envelope(UnixMs now, const Place& place, const std::optional<std::string>& item,
                     std::string_view event);

// {"type","data"} for create, update, delete, sync; `data` is JSON text.
std::string event_body(std::string_view type, std::string_view data);
// What stream::send sends: {"type":"event","event":{"type","data"}}.
std::string sent_body(std::string_view type, std::string_view data);
std::string unauthorized_body();
// Ours: why a subscription could not be made.
std::string error_body(const Error& error);

}  // namespace chela::bus::stream
