#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "op/detour.h"
#include "op/operation.h"

namespace chela::op {

using Params = std::vector<std::pair<std::string, std::string>>;

// What a method and path lead to. Exactly one of: found (operation and route set), wrong method (allowed is not empty), nothing.
struct Match {
  std::shared_ptr<const Operation> operation = {};
  const Route* route = nullptr;           // lives as long as the operation
  Params params = {};                     // percent-decoded
  std::vector<std::string> allowed = {};  // for 405 and its Allow header
  explicit operator bool() const { return operation != nullptr; }
};

// All operations of an engine. Loop thread only; filled by app/ and by workers that come and go.
class Registry {
 public:
  // kConflict on an id or route that exists; kInvalidArgument on a wrong path, schema, or handler of another kind.
  Result<> add(Operation operation);

  // From now on calls of all operations, whenever they were added, go where the detour takes them; not those that answer with bytes.
  void set_detour(Detour& detour) { detour_->to = &detour; }

  std::shared_ptr<const Operation> find(std::string_view id) const;
  // `path` as on the wire, without the query. A fixed segment wins over a {name}, a {name} over a {name...}.
  Match match(Surface surface, std::string_view method, std::string_view path) const;
  std::vector<std::shared_ptr<const Operation>> list() const;  // by id

 private:
  // Shared with the handlers: an operation may outlive its registry in a call.
  struct DetourSlot {
    Detour* to = nullptr;
  };
  void add_detour(Operation& operation) const;

  struct Target {
    std::shared_ptr<const Operation> operation;
    const Route* route;
  };
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> fixed;
    std::unique_ptr<Node> param;
    std::unique_ptr<Node> rest;  // {name...}
    std::map<std::string, Target, std::less<>> methods;
  };

  static const Node* descend(const Node& node, const std::vector<std::string_view>& segments, size_t at);
  Node* place(const Route& route);

  std::map<std::string, std::shared_ptr<const Operation>, std::less<>> by_id_;
  std::map<Surface, Node> roots_;
  std::shared_ptr<DetourSlot> detour_ = std::make_shared<DetourSlot>();
};

// One object of path, query and body. Text of path and query becomes what the schema's property says; a query name that repeats
// fills an array. Path wins over query, query over body. A body that is no object is kInvalidArgument.
Result<json::Value> merge_input(const Operation& operation, const Params& path, const Params& query,
                                json::Value body);

// The path as OpenAPI writes it: {name...} has no word there, so it is a {name} (whose description says that it takes slashes).
std::string template_of(std::string_view path);

// OpenAPI 3.1 of all routes of a surface.
json::Value openapi(const Registry& registry, Surface surface, std::string_view title,
                    std::string_view version);

}  // namespace chela::op
