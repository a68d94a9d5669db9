#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/scope.h"
#include "op/principal.h"
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
  // Of everybody whose words the turn follows; each of them must allow tools:<group>. None: no tool runs.
  std::vector<op::Permissions> permissions = {};
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
  Consent consent = Consent::
      kNotAsked;  // kGiven: the description is the tool's own question; it runs once that is agreed to
};

// What the model and the clients see of a finished call.
struct FinishedCall {
  std::string id;
  std::string name;
  std::string text;     // for the model, wrapped and cut to max_result_bytes
  std::string preview;  // for people, at most 500 characters
  bool is_error = false;
  std::optional<CredentialRequest> credential = {};  // not finished: the person is to be asked
};

}  // namespace chela::tools
