#include "bus/http/cors.h"

#include <algorithm>

#include "base/strings.h"

namespace chela::bus::http {
namespace {

constexpr std::string_view kOrigin = "Origin";
constexpr std::string_view kMethod = "Access-Control-Request-Method";
constexpr std::string_view kHeaders = "Access-Control-Request-Headers";
constexpr std::string_view kAnyMethods = "GET, POST, PUT, DELETE, PATCH, HEAD, OPTIONS";

void any_is_empty(std::vector<std::string>& list) {
  if (std::ranges::find(list, "*") != list.end()) list.clear();
}

}  // namespace

Cors::Cors(CorsOptions options) : options_(std::move(options)) {
  any_is_empty(options_.origins);
  any_is_empty(options_.methods);
  any_is_empty(options_.headers);
}

std::optional<net::HttpResponse> Cors::preflight(const net::HttpRequest& request) const {
  if (request.method != "OPTIONS" || !request.headers.find(kOrigin) || !request.headers.find(kMethod))
    return std::nullopt;
  net::HttpResponse response{.status = 204};
  allow(request, response.headers);
  response.headers.add("Access-Control-Allow-Methods", options_.methods.empty()
                                                           ? std::string(kAnyMethods)
                                                           : strings::join(options_.methods, ", "));
  // What was asked for is repeated: "*" would leave Authorization out.
  const std::string_view asked = request.headers.value_or(kHeaders);
  if (!options_.headers.empty()) {
    response.headers.add("Access-Control-Allow-Headers", strings::join(options_.headers, ", "));
  } else if (!asked.empty()) {
    response.headers.add("Access-Control-Allow-Headers", asked);
  }
  response.headers.add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers");
  return response;
}

void Cors::allow(const net::HttpRequest& request, net::Headers& answer) const {
  if (answer.find("Access-Control-Allow-Origin") != nullptr) return;  // the function has decided
  if (options_.origins.empty()) {
    answer.add("Access-Control-Allow-Origin", "*");
    return;
  }
  answer.add("Vary", "Origin");
  const std::string* origin = request.headers.find(kOrigin);
  if (origin != nullptr && std::ranges::find(options_.origins, *origin) != options_.origins.end())
    answer.add("Access-Control-Allow-Origin", *origin);
}

}  // namespace chela::bus::http
