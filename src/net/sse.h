#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/result.h"

namespace chela::net {

struct SseEvent {
  std::string event;                        // "" when the stream names none (the standard's "message")
  std::string data;                         // lines joined by '\n'
  std::string id;                           // the last id seen up to here
  std::optional<int> retry = std::nullopt;  // milliseconds, when this event's block had one
  bool operator==(const SseEvent&) const = default;
};

// Reads text/event-stream as the HTML standard says. How the bytes are cut does not change the events.
class SseParser {
 public:
  explicit SseParser(size_t max_event_bytes = kMaxSseEventBytes) : max_event_bytes_(max_event_bytes) {}

  // The events that these bytes complete. kTooLarge once an event passes the limit, and for ever after; events completed by the same
  // bytes before it are given first, the error with the next call.
  Result<std::vector<SseEvent>> feed(std::string_view bytes);

 private:
  void end_line(std::vector<SseEvent>& out);
  void field(std::string_view name, std::string_view value);
  void dispatch(std::vector<SseEvent>& out);

  size_t max_event_bytes_;
  std::string line_;
  std::string event_;
  std::string data_;
  std::string id_;
  std::optional<int> retry_;
  bool has_data_ = false;
  bool first_line_ = true;  // a byte order mark may precede it
  bool after_cr_ = false;   // a '\n' that follows belongs to the '\r' before it
  bool too_large_ = false;
};

// One event as bytes, its blank line included. Empty event and id are left out; line breaks in data become several data lines.
std::string format_sse(std::string_view event, std::string_view id, std::string_view data);

}  // namespace chela::net
