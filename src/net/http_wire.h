#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

// How responses look on the wire, and those that the server makes itself.
namespace chela::net {

enum class KeepAlive { kNo, kYes };

enum class Framing {
  kLength,  // Content-Length
  kChunked,
  kUntilClose,  // HTTP/1.0: the end of the connection ends the body
  kNone,        // 204, 304 and 101 have no body and say nothing of it
};

struct ResponseHead {
  int status = 200;
  const Headers& headers;
  Framing framing = Framing::kLength;
  size_t length = 0;  // for kLength
  KeepAlive keep_alive = KeepAlive::kYes;
  int minor_version = 1;
  std::string_view date;
};

// Appends status line and fields. Fields that frame the message are left out of `headers`: they are the server's. kInvalidArgument,
// with nothing appended, when a field or the status is malformed.
Result<> append_head(std::string& out, const ResponseHead& head);

// True when a response of this status never has a body.
bool bodiless(int status);

void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// A request that the server refuses itself: the status of HTTP and the error of the envelope.
struct Refusal {
  int status = 400;
  Error error;
  std::string path = {};  // "" while it is not known
};

// The JSON envelope {"error":{...}}.
HttpResponse error_response(const Refusal& refusal);

}  // namespace chela::net
