#include "net/http_wire.h"

#include "base/json.h"
#include "base/strings.h"

namespace chela::net {
namespace {

bool frames_message(std::string_view name) {
  for (const std::string_view own :
       {"content-length", "transfer-encoding", "connection", "keep-alive", "date"}) {
    if (strings::iequals(name, own)) return true;
  }
  return false;
}

}  // namespace

Result<> append_head(std::string& out, const ResponseHead& head) {
  if (head.status < 100 || head.status > 999)
    return fail(Code::kInvalidArgument, "{} is no HTTP status", head.status);
  for (const auto& [name, value] : head.headers.fields) {
    if (!valid_field(FieldPart::kName, name))
      return fail(Code::kInvalidArgument, "a response header has a malformed name");
    if (!valid_field(FieldPart::kValue, value)) {
      return fail(Code::kInvalidArgument, "the response header {} has a line break or a control character",
                  name);
    }
  }
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nDate: {}\r\n", head.status,
                 reason_phrase(head.status), head.date);
  for (const auto& [name, value] : head.headers.fields) {
    if (!frames_message(name)) fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
  }
  if (head.framing == Framing::kLength)
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", head.length);
  if (head.framing == Framing::kChunked) out += "Transfer-Encoding: chunked\r\n";
  if (head.keep_alive == KeepAlive::kNo) {
    out += "Connection: close\r\n";
  } else if (head.minor_version == 0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  return {};
}

bool bodiless(int status) { return status < 200 || status == 204 || status == 304; }

void append_chunk(std::string& out, std::string_view bytes) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out += bytes;
  out += "\r\n";
}

HttpResponse error_response(const Refusal& refusal) {
  HttpResponse response{.status = refusal.status};
  response.headers.add("Content-Type", "application/json");
  if (refusal.error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*refusal.error.retry_after).count();
    response.headers.add("Retry-After", std::to_string(seconds));
  }
  response.body = json::write(json::Value::object({{"error", json::from_error(refusal.error)}}));
  return response;
}

}  // namespace chela::net
