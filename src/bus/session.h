#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace chela::bus {

struct Rights;

// A pattern: `*` stands for any run of characters.
bool matches_pattern(std::string_view pattern, std::string_view text);

// Functions that may be called though nobody named them: the id matches, or all named metadata does.
struct ExposeRule {
  struct Metadata {
    std::string key;
    json::Value value;         // equal to it, or
    std::string pattern = {};  // a text that matches this, when there is one
  };
  std::string id_pattern = {};
  std::vector<Metadata> metadata = {};

  // `described` is the function's metadata, null when it has none.
  bool covers(std::string_view id, const json::Value& described) const;
};

// Functions that decide about what connections of a listener do, by id; "" = none. Called in the name of `host`.
struct Deciders {
  std::string middleware;  // called instead of what a session calls
  std::string on_function;
  std::string on_trigger;
  std::string on_trigger_type;
  std::shared_ptr<const Rights> host;
};

// What one connection of a listener with rules may do. Never changes.
struct Session {
  enum class Calls { kAll, kListed };
  enum class May { kNo, kYes };
  enum class Verdict { kAllowed, kForbidden, kNotListed };
  using Ids = std::set<std::string, std::less<>>;

  Calls calls = Calls::kAll;
  Ids allowed = {};
  Ids forbidden = {};
  std::vector<ExposeRule> expose = {};
  std::optional<Ids> trigger_types = {};  // nothing: all of them
  May register_functions = May::kYes;
  May register_trigger_types = May::kYes;
  json::Value context = json::Value::object();  // goes to the deciders
  std::string prefix = {};                      // of the ids of its functions, "" = none
  Deciders deciders = {};

  // First match wins: forbidden, allowed, what every worker needs, exposed. `metadata` is asked for only when a rule wants it.
  Verdict may_call(std::string_view id, const std::function<json::Value()>& metadata) const;
  // The registry's id of a function that the worker calls `id`.
  std::string prefixed(std::string_view id) const;

  // From what an authentication function answered, on top of what the listener gives all sessions. kInvalidArgument for another shape.
  static Result<Session> from_answer(Session listener, const json::Value& answer);
};
using SessionPtr = std::shared_ptr<const Session>;

}  // namespace chela::bus
