// LINK bus/http
// Any text is a route or is refused; a route serves the path that is made of it, and what was removed serves nothing.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "bus/http/route.h"
#include "net/http.h"

namespace {

using chela::bus::http::Pattern;
using chela::bus::http::Route;
using chela::bus::http::Routes;

// The path of a request that the pattern is there for: parameters are filled with "x".
std::string path_of(const Pattern& pattern) {
  std::string path;
  for (const Pattern::Segment& each : pattern.segments()) {
    const bool text = each.kind == Pattern::Segment::Kind::kText;
    path += "/" + (text ? chela::net::percent_encode(each.text) : "x");
  }
  return path.empty() ? "/" : path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Routes routes;
  std::vector<chela::bus::http::RoutePtr> added;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string path(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto trigger = std::make_shared<const chela::bus::BoundTrigger>(
        chela::bus::BoundTrigger{.key = std::to_string(added.size()),
                                 .id = "i",
                                 .type = "http",
                                 .function_id = "f",
                                 .config = chela::json::Value::object({{"api_path", path}}),
                                 .metadata = {},
                                 .tenant = "t",
                                 .rights = {},
                                 .owner = nullptr,
                                 .ended = {}});
    const auto route = Route::create(trigger);
    if (route && routes.add(*route)) added.push_back(*route);
  }
  for (const auto& route : added) {
    const auto steps = chela::bus::http::split_path(path_of(route->pattern));
    if (!steps) continue;  // text that is no UTF-8 never comes in a request
    CHELA_CHECK(routes.find("GET", *steps).route != nullptr, "a route serves its own path");
  }
  for (const auto& route : added) routes.remove(*route->trigger);
  for (const auto& route : added) {
    const auto steps = chela::bus::http::split_path(path_of(route->pattern));
    CHELA_CHECK(!steps || routes.find("GET", *steps).route == nullptr, "a removed route serves nothing");
  }
  CHELA_CHECK(routes.size() == 0, "nothing is left");
  return 0;
}
