#pragma once

#include <string>

#include "base/time.h"
#include "obs/log.h"
#include "obs/redaction.h"

namespace chela::log {

// One line as the sinks get it.
struct Line {
  UnixMs time;
  Level level;
  std::string_view target;
  std::string_view message;
  Fields fields;
};

// The message and its fields: "a client is slow thread=t7 waited_ms=20".
std::string message_text(const Line& line, const Redaction& redaction);
std::string json_line(const Line& line, const Redaction& redaction);
// "10:00:01.250 warn  gateway: a client is slow thread=t7 waited_ms=20"
std::string people_line(const Line& line, const Redaction& redaction);

}  // namespace chela::log
