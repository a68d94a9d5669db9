#include "op/registry.h"

#include <set>

#include "base/strings.h"
#include "schema/schema.h"

namespace chela::op {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// A percent-encoded segment decoded; a stray % stands for itself.
std::string percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_param(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}
bool takes_rest(std::string_view segment) { return is_param(segment) && segment.ends_with("...}"); }
std::string_view param_name(std::string_view segment) {
  segment = segment.substr(1, segment.size() - 2);
  return segment.ends_with("...") ? segment.substr(0, segment.size() - 3) : segment;
}

// "/api/jobs/{id}" without its first slash, in segments.
std::vector<std::string_view> segments_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  return strings::split(path, '/');
}

Result<> check_route(const Operation& operation, const Route& route) {
  if (!route.path.starts_with('/'))
    return fail(Code::kInvalidArgument, "{}: the path {} does not begin with /", operation.id, route.path);
  std::set<std::string_view> names;
  const std::vector<std::string_view> segments = segments_of(route.path);
  for (const std::string_view& segment : segments) {
    const bool braces = segment.find_first_of("{}") != std::string_view::npos;
    if (braces && (!is_param(segment) || param_name(segment).find_first_of("{}") != std::string_view::npos)) {
      return fail(Code::kInvalidArgument, "{}: in {} a parameter is not a whole segment", operation.id,
                  route.path);
    }
    if (!is_param(segment)) continue;
    if (takes_rest(segment) && &segment != &segments.back())
      return fail(Code::kInvalidArgument, "{}: in {} something follows {}", operation.id, route.path,
                  segment);
    if (!names.insert(param_name(segment)).second)
      return fail(Code::kInvalidArgument, "{}: {} names a parameter twice", operation.id, route.path);
    const json::Value* properties = operation.in.find("properties");
    if (!properties || !properties->find(param_name(segment))) {
      return fail(Code::kInvalidArgument, "{}: the parameter {} of {} is no property of its input",
                  operation.id, segment, route.path);
    }
  }
  return {};
}

Result<> check(const Operation& operation) {
  if (operation.id.empty()) return fail(Code::kInvalidArgument, "an operation has no id");
  if (operation.handler.index() != static_cast<size_t>(operation.kind)) {
    return fail(Code::kInvalidArgument, "{}: the handler is not of the operation's kind", operation.id);
  }
  for (const json::Value* each : {&operation.in, &operation.out}) {
    if (Result<> ok = schema::check_schema(*each); !ok)
      return fail(Code::kInvalidArgument, "{}: {}", operation.id, ok.error().message);
  }
  for (const Route& route : operation.routes) {
    if (Result<> ok = check_route(operation, route); !ok) return ok;
  }
  return {};
}

Task<Result<json::Value>> by_detour(Detour& detour, std::string id, Idempotent idempotent,
                                    CallContext context, json::Value args, ValueHandler own) {
  std::optional<Result<json::Value>> done =
      co_await detour.call(std::move(id), idempotent, context, args);  // copies: they may be needed again
  if (done) co_return std::move(*done);
  co_return co_await own(std::move(context), std::move(args));
}

}  // namespace

std::string template_of(std::string_view path) {
  return strings::replace_all(std::string(path), "...}", "}");
}

Registry::Node* Registry::place(const Route& route) {
  Node* node = &roots_[route.surface];
  for (const std::string_view segment : segments_of(route.path)) {
    std::unique_ptr<Node>& next = takes_rest(segment) ? node->rest
                                  : is_param(segment) ? node->param
                                                      : node->fixed[std::string(segment)];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  return node;
}

void Registry::add_detour(Operation& operation) const {
  if (const auto* value = std::get_if<ValueHandler>(&operation.handler)) {
    operation.handler = ValueHandler([slot = detour_, id = operation.id, idempotent = operation.idempotent,
                                      own = *value](CallContext context, json::Value args) {
      if (slot->to == nullptr || !slot->to->takes(id, context))
        return own(std::move(context), std::move(args));
      return by_detour(*slot->to, id, idempotent, std::move(context), std::move(args), own);
    });
  } else if (const auto* events = std::get_if<EventsHandler>(&operation.handler)) {
    operation.handler =
        EventsHandler([slot = detour_, id = operation.id, idempotent = operation.idempotent, own = *events](
                          CallContext context, json::Value args, EventSink& sink) {
          if (slot->to == nullptr || !slot->to->takes(id, context))
            return own(std::move(context), std::move(args), sink);
          const ValueHandler here = [own, &sink](CallContext c, json::Value a) {
            return own(std::move(c), std::move(a), sink);
          };
          return by_detour(*slot->to, id, idempotent, std::move(context), std::move(args), here);
        });
  }
}

Result<> Registry::add(Operation operation) {
  if (Result<> ok = check(operation); !ok) return ok;
  if (by_id_.contains(operation.id)) return fail(Code::kConflict, "the operation {} exists", operation.id);
  add_detour(operation);
  const auto shared = std::make_shared<const Operation>(std::move(operation));
  std::set<std::pair<Node*, std::string_view>> own;
  for (const Route& route : shared->routes) {
    Node* node = place(route);
    const auto taken = node->methods.find(route.method);
    if (taken != node->methods.end() || !own.emplace(node, route.method).second) {
      const std::string& owner = taken != node->methods.end() ? taken->second.operation->id : shared->id;
      return fail(Code::kConflict, "{}: the route {} {} belongs to {}", shared->id, route.method, route.path,
                  owner);
    }
  }
  for (const Route& route : shared->routes)
    place(route)->methods.emplace(route.method, Target{shared, &route});
  by_id_.emplace(shared->id, shared);
  return {};
}

std::shared_ptr<const Operation> Registry::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const Operation>> Registry::list() const {
  std::vector<std::shared_ptr<const Operation>> all;
  for (const auto& [id, operation] : by_id_) all.push_back(operation);
  return all;
}

// The node with methods that the segments lead to. Goes back when a fixed segment leads nowhere, so /jobs/{id}/log is found although
// /jobs/summary exists. The depth is that of the registered paths.
const Registry::Node* Registry::descend(const Node& node, const std::vector<std::string_view>& segments,
                                        size_t at) {
  if (at == segments.size()) return node.methods.empty() ? nullptr : &node;
  if (const auto next = node.fixed.find(segments[at]); next != node.fixed.end()) {
    if (const Node* found = descend(*next->second, segments, at + 1)) return found;
  }
  if (segments[at].empty()) return nullptr;
  if (node.param) {
    if (const Node* found = descend(*node.param, segments, at + 1)) return found;
  }
  return node.rest.get();
}

Match Registry::match(Surface surface, std::string_view method, std::string_view path) const {
  const auto root = roots_.find(surface);
  if (root == roots_.end() || !path.starts_with('/')) return {};
  const std::vector<std::string_view> segments = segments_of(path);
  const Node* node = descend(root->second, segments, 0);
  if (!node) return {};
  Match match;
  const auto target = node->methods.find(method);
  if (target == node->methods.end()) {
    for (const auto& [name, each] : node->methods) match.allowed.push_back(name);
    return match;
  }
  match.operation = target->second.operation;
  match.route = target->second.route;
  const std::vector<std::string_view> pattern = segments_of(match.route->path);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!is_param(pattern[i])) continue;
    // The segments are parts of the path: the rest of it is what lies from there to its end.
    const std::string_view text = takes_rest(pattern[i])
                                      ? path.substr(static_cast<size_t>(segments[i].data() - path.data()))
                                      : segments[i];
    match.params.emplace_back(param_name(pattern[i]), percent_decode(text));
  }
  return match;
}

}  // namespace chela::op
