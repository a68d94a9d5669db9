#include "bus/http/route.h"

#include <array>

#include "base/strings.h"
#include "base/utf8.h"
#include "bus/http/limits.h"
#include "net/http.h"

namespace chela::bus::http {
namespace {

constexpr std::array<std::string_view, 7> kMethods = {"GET",   "POST", "PUT",    "DELETE",
                                                      "PATCH", "HEAD", "OPTIONS"};

Result<std::vector<std::string>> middleware_of(const json::Value& config) {
  std::vector<std::string> ids;
  const json::Value* given = config.find("middleware_function_ids");
  if (given == nullptr || given->is_null()) return ids;
  const json::Array* list = given->as_array();
  if (list == nullptr)
    return fail(Code::kInvalidArgument, "middleware_function_ids must be a list of function ids");
  if (list->size() > kMaxMiddleware)
    return fail(Code::kTooLarge, "middleware_function_ids has {} entries; at most {} are taken", list->size(),
                kMaxMiddleware);
  for (const json::Value& each : *list) {
    if (!each.is_string() || each.as_string()->empty())
      return fail(Code::kInvalidArgument, "middleware_function_ids must be a list of function ids");
    ids.push_back(*each.as_string());
  }
  return ids;
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view path) {
  if (path.size() > kMaxPathBytes)
    return fail(Code::kTooLarge, "api_path has {} bytes; at most {} are taken", path.size(), kMaxPathBytes);
  if (path.find_first_of("?#") != std::string_view::npos)
    return fail(Code::kInvalidArgument, "api_path must be a path without '?' and '#', not {}", path);
  for (const char c : path) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
      return fail(Code::kInvalidArgument, "api_path must have no spaces and control characters");
  }
  if (path.starts_with('/')) path.remove_prefix(1);
  Pattern pattern;
  if (path.empty()) return pattern;
  for (const std::string_view part : strings::split(path, '/')) {
    const bool last = part.data() + part.size() == path.data() + path.size();
    if (part.empty() && !last) return fail(Code::kInvalidArgument, "api_path has an empty segment: {}", path);
    if (pattern.segments_.size() == kMaxSegments)
      return fail(Code::kTooLarge, "api_path has more than {} segments", kMaxSegments);
    if (!part.starts_with(':')) {
      std::optional<std::string> text = net::percent_decode(part);
      if (!text) return fail(Code::kInvalidArgument, "api_path has a malformed escape: {}", path);
      pattern.segments_.push_back({.kind = Segment::Kind::kText, .text = std::move(*text)});
      continue;
    }
    const std::string_view name = part.substr(1);
    if (name.empty() || name.contains(':'))
      return fail(Code::kInvalidArgument, "api_path has a parameter without a name of its own: {}", path);
    for (const std::string_view other : pattern.names()) {
      if (other == name)
        return fail(Code::kInvalidArgument, "api_path has two parameters named {}: {}", name, path);
    }
    pattern.segments_.push_back({.kind = Segment::Kind::kParameter, .text = std::string(name)});
  }
  return pattern;
}

std::vector<std::string_view> Pattern::names() const {
  std::vector<std::string_view> names;
  for (const Segment& each : segments_) {
    if (each.kind == Segment::Kind::kParameter) names.push_back(each.text);
  }
  return names;
}

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return segments;
  for (const std::string_view part : strings::split(path, '/')) {
    std::optional<std::string> text = net::percent_decode(part);
    if (!text || segments.size() == kMaxSegments || !utf8::valid(*text)) return std::nullopt;
    segments.push_back(std::move(*text));
  }
  return segments;
}

Result<RoutePtr> Route::create(BoundTriggerPtr trigger) {
  const json::Value& config = trigger->config;
  const json::Value* path = config.find("api_path");
  if (path == nullptr || !path->is_string())
    return fail(Code::kInvalidArgument, "an http trigger needs an api_path");
  Result<Pattern> pattern = Pattern::parse(*path->as_string());
  if (!pattern) return fail(pattern.error());
  std::string method = config.string_or("http_method", "GET");
  for (char& c : method) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (std::ranges::find(kMethods, method) == kMethods.end())
    return fail(Code::kInvalidArgument, "http_method must be one of {}, not {}", fmt::join(kMethods, ", "),
                method);
  Result<std::vector<std::string>> middleware = middleware_of(config);
  if (!middleware) return fail(middleware.error());
  std::string condition = condition_of(*trigger);
  return std::make_shared<const Route>(Route{.trigger = std::move(trigger),
                                             .method = std::move(method),
                                             .path = *path->as_string(),
                                             .pattern = std::move(*pattern),
                                             .middleware = std::move(*middleware),
                                             .condition = std::move(condition)});
}

Result<> Routes::add(RoutePtr route) {
  if (by_key_.size() >= kMaxRoutes) return fail(Code::kTooLarge, "there are {} routes already", kMaxRoutes);
  if (shared_with_another(root_, *route, 0))
    return fail(Code::kConflict,
                "the route {} {} conflicts with an already-registered route of another user: both would take "
                "some of the same paths; choose a path of your own",
                route->method, route->path);
  Node* node = &root_;
  for (const Pattern::Segment& each : route->pattern.segments()) {
    std::unique_ptr<Node>& next =
        each.kind == Pattern::Segment::Kind::kText ? node->texts[each.text] : node->parameter;
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  for (const auto& [method, routes] : node->methods) {
    const Route& other = *routes.front();
    if (other.pattern.names() == route->pattern.names()) continue;
    // The nodes made for it lead to another route, so none is left over.
    return fail(
        Code::kConflict,
        "the route {} {} conflicts with already-registered route {} {}, which has parameters of other names",
        route->method, route->path, method, other.path);
  }
  node->methods[route->method].push_back(route);
  by_key_.insert_or_assign(route->trigger->key, std::move(route));
  return {};
}

// Each node is looked at once at most. Methods do not matter: whoever takes GET is asked for HEAD, and OPTIONS and POST of a path
// tell as much of its clients.
bool Routes::shared_with_another(const Node& node, const Route& route, size_t at) {
  if (at == route.pattern.segments().size()) {
    // Those of one node are one user's.
    return !node.methods.empty() &&
           node.methods.begin()->second.front()->trigger->tenant != route.trigger->tenant;
  }
  const Pattern::Segment& segment = route.pattern.segments()[at];
  if (segment.kind == Pattern::Segment::Kind::kText) {
    const auto same = node.texts.find(segment.text);
    if (same != node.texts.end() && shared_with_another(*same->second, route, at + 1)) return true;
  } else {
    for (const auto& [text, next] : node.texts) {
      if (!text.empty() && shared_with_another(*next, route, at + 1)) return true;
    }
  }
  // Nothing between two slashes fills no parameter.
  const bool fills = segment.kind == Pattern::Segment::Kind::kParameter || !segment.text.empty();
  return fills && node.parameter && shared_with_another(*node.parameter, route, at + 1);
}

void Routes::remove(const BoundTrigger& trigger) {
  const auto found = by_key_.find(trigger.key);
  if (found == by_key_.end() || found->second->trigger.get() != &trigger) return;
  const RoutePtr route = found->second;
  by_key_.erase(found);
  remove_at(root_, *route, 0);
}

void Routes::remove_at(Node& node, const Route& route, size_t at) {
  if (at == route.pattern.segments().size()) {
    const auto routes = node.methods.find(route.method);
    std::erase_if(routes->second, [&](const RoutePtr& each) { return each.get() == &route; });
    if (routes->second.empty()) node.methods.erase(routes);
    return;
  }
  const Pattern::Segment& segment = route.pattern.segments()[at];
  if (segment.kind == Pattern::Segment::Kind::kParameter) {
    remove_at(*node.parameter, route, at + 1);
    if (node.parameter->empty()) node.parameter.reset();
    return;
  }
  const auto next = node.texts.find(segment.text);
  remove_at(*next->second, route, at + 1);
  if (next->second->empty()) node.texts.erase(next);
}

// Each node is looked at once at most, as there is one way to it.
bool Routes::walk(const Node& node, const Steps& path, size_t at,
                  const std::function<bool(const Node&)>& visit) {
  if (at == path.size()) return visit(node);
  if (const auto text = node.texts.find(path[at]);
      text != node.texts.end() && walk(*text->second, path, at + 1, visit))
    return true;
  return node.parameter && !path[at].empty() && walk(*node.parameter, path, at + 1, visit);
}

Routes::Match Routes::find(std::string_view method, const Steps& path) const {
  Match match;
  const auto serve = [&](const Node& node, std::string_view wanted) {
    const auto routes = node.methods.find(wanted);
    if (routes != node.methods.end()) match.route = routes->second.back();
    return match.route != nullptr;
  };
  walk(root_, path, 0, [&](const Node& node) {
    // What answers GET answers HEAD, without the body.
    if (serve(node, method) || (method == "HEAD" && serve(node, "GET"))) return true;
    for (const auto& [each, routes] : node.methods) match.methods.push_back(each);
    return false;
  });
  if (!match.route) return match;
  match.methods.clear();
  const std::vector<Pattern::Segment>& segments = match.route->pattern.segments();
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].kind == Pattern::Segment::Kind::kParameter)
      match.parameters.emplace_back(segments[i].text, path[i]);
  }
  return match;
}

}  // namespace chela::bus::http
