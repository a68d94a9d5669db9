#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the HTTP server and the HTTP client share: plain values, no sockets.
namespace chela::net {

// Header fields in the order they came. Names keep their spelling and compare without case.
struct Headers {
  std::vector<std::pair<std::string, std::string>> fields;

  // The first field of that name; nullptr when absent.
  const std::string* find(std::string_view name) const;
  // The first field's value, or the fallback.
  std::string_view value_or(std::string_view name, std::string_view fallback = {}) const;
  // Appends; a name may occur several times.
  void add(std::string_view name, std::string_view value);
  // Replaces all fields of that name by one.
  void set(std::string_view name, std::string_view value);
  void erase(std::string_view name);
  size_t count(std::string_view name) const;
};

enum class Transport { kTcp, kUnix };

// One request, body included. Nothing in it is trusted: only the framing has been checked.
struct HttpRequest {
  std::string method;  // as sent; methods are case-sensitive
  std::string target;  // as sent
  std::string path;    // the target before '?', still percent-encoded; "/" at least (except "*")
  std::string query;   // the target after '?', still percent-encoded
  Headers headers;
  std::string body;
  std::string peer;  // "127.0.0.1:40312", "[::1]:40312" or "unix"
  Transport transport = Transport::kTcp;
};

// How many bytes the body of a request with this head may have when it is taken piece by piece; nothing: it is taken whole.
using StreamLimit = std::function<std::optional<std::uint64_t>(const HttpRequest& head)>;

struct HttpResponse {
  int status = 200;
  Headers headers = {};
  std::string body = {};
};

// "Not Found"; "Unknown" for a status without a name.
std::string_view reason_phrase(int status);

// Decodes %XX; nothing when an escape is malformed or gives a NUL byte. '+' stays as it is.
std::optional<std::string> percent_decode(std::string_view text);
// Encodes all but the unreserved characters of RFC 3986.
std::string percent_encode(std::string_view text);
// "a=1&b=x%20y+z" -> {{"a","1"},{"b","x y z"}}. A malformed escape stays as text; empty parts are left out.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view raw);

// RFC 9110: token characters for a name; a value without CR, LF, NUL and other control characters.
enum class FieldPart { kName, kValue };
bool valid_field(FieldPart part, std::string_view text);

}  // namespace chela::net
