#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bus/provider.h"

namespace chela::bus::http {

// "users/:id/posts": what is between slashes is taken as it is, or fills a parameter.
class Pattern {
 public:
  struct Segment {
    enum class Kind { kText, kParameter };
    Kind kind;
    std::string text;  // or the parameter's name
  };

  // kInvalidArgument says what is wrong with the path. A slash in front changes nothing.
  static Result<Pattern> parse(std::string_view path);

  const std::vector<Segment>& segments() const { return segments_; }
  // The names of its parameters, in order.
  std::vector<std::string_view> names() const;

 private:
  std::vector<Segment> segments_;
};

// The segments of a request's path, decoded; nothing when an escape is malformed or there are too many.
std::optional<std::vector<std::string>> split_path(std::string_view path);

// What an HTTP trigger asks for.
struct Route {
  BoundTriggerPtr trigger;
  std::string method;
  std::string path;  // as it was registered
  Pattern pattern;
  std::vector<std::string> middleware;  // functions, in order
  std::string condition;                // the function that it names; "" = none

  // kInvalidArgument for a configuration that is no route.
  static Result<std::shared_ptr<const Route>> create(BoundTriggerPtr trigger);
};
using RoutePtr = std::shared_ptr<const Route>;

// Which route takes a request: text before parameters, segment by segment from the left. Routes of the same method and path take
// turns in time: the newest live one serves, those before it when it has gone. Loop thread only.
class Routes {
 public:
  struct Match {
    RoutePtr route;  // null: nobody serves this path with this method
    std::vector<std::pair<std::string, std::string>> parameters = {};
    std::vector<std::string> methods = {};  // with which it is served, when the given one is not among them
  };

  // kConflict when another user's route takes some of its paths, with whatever method, or when the same paths have parameters of
  // other names; kTooLarge past the limit.
  Result<> add(RoutePtr route);
  void remove(const BoundTrigger& trigger);
  Match find(std::string_view method, const std::vector<std::string>& path) const;
  size_t size() const { return by_key_.size(); }

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> texts;
    std::unique_ptr<Node> parameter;
    std::map<std::string, std::vector<RoutePtr>, std::less<>> methods;  // newest last, never empty

    bool empty() const { return texts.empty() && !parameter && methods.empty(); }
  };
  using Steps = std::vector<std::string>;

  // Whether `visit` is content with a node for the path; the first such one is the match.
  static bool walk(const Node& node, const Steps& path, size_t at,
                   const std::function<bool(const Node&)>& visit);
  // Whether another user's route takes a path that this one takes too.
  static bool shared_with_another(const Node& node, const Route& route, size_t at);
  static void remove_at(Node& node, const Route& route, size_t at);

  Node root_;
  std::map<std::string, RoutePtr, std::less<>> by_key_;
};

}  // namespace chela::bus::http
