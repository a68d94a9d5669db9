#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/scope.h"
#include "tools/tool.h"

namespace chela::tools {

// Who is calling, in which turn.
struct CallSite {
  Scope scope;
  std::string thread;
  std::string turn;
  std::vector<std::string> tools = {
      "*"};                      // patterns of the names that the agent may use; others are unknown to it
  std::string context = "chat";  // for hooks: "chat" or "job:<id>"
};

// A call after the stages that come before execution: name resolved, arguments parsed, schema checked, hooks run, approval decided.
struct PreparedCall {
  std::string id;
  std::string name;       // the tool's own name, aliases resolved
  json::Value arguments;  // final
  enum class Decision { kRun, kAsk, kRefused } decision = Decision::kRun;
  std::string refusal;      // kRefused: what the model is told
  std::string description;  // for the approval question
  Idempotence idempotence = Idempotence::kOnce;
};

// What the model and the clients see of a finished call.
struct FinishedCall {
  std::string id;
  std::string name;
  std::string text;     // for the model, wrapped and cut to max_result_bytes
  std::string preview;  // for people, at most 500 characters
  bool is_error = false;
};

}  // namespace chela::tools
