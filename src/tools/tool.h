#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "op/principal.h"
#include "runtime/task.h"

namespace chela::tools {

struct TextPart {
  std::string text;
};
struct JsonPart {
  json::Value value;
};
struct ImagePart {
  std::string media_type;
  std::string bytes;
};
struct FilePart {
  std::string path;  // below the workspace
  std::string media_type;
};
using Part = std::variant<TextPart, JsonPart, ImagePart, FilePart>;

// Where a result's content comes from, for the safety layer.
enum class Taint { kTrusted, kUntrusted };

// Whether a credential may take the place of one that the vault has: only when the person agreed to that before they were asked for it.
enum class Replacing { kNothing, kExisting };

// Something that only the person can give: the call goes on once it is in the vault, or they declined.
struct CredentialRequest {
  std::string name;          // in the vault
  std::string instructions;  // what a person is to do, in a sentence or two
  std::string auth_url = {};
  std::string setup_url = {};
  Replacing replacing = Replacing::kNothing;
};

struct ToolResult {
  std::vector<Part> parts;
  bool is_error = false;
  Taint taint = Taint::kTrusted;
  std::optional<CredentialRequest> credential = {};  // instead of parts

  static ToolResult text(std::string text);
  static ToolResult json(json::Value value);
  static ToolResult error(std::string message);  // says what was wrong and what the model can do
};

enum class Approval { kNever, kUnlessAutoApproved, kAlways };
// Whether the person agreed to what the tool's own question said.
enum class Consent { kNotAsked, kGiven };
enum class Idempotence { kRepeatable, kOnce };  // kRepeatable may run again after a crash

struct ToolContext {
  Scope scope;
  std::string thread;
  std::string turn;
  std::string call_id;
  SteadyTime deadline;
  std::stop_token stop;
  std::function<void(std::string)> progress;  // may be empty
  Consent consent = Consent::kNotAsked;
  op::Permissions permissions = {};  // what everybody whose words the turn follows may do
};

struct ToolInfo {
  std::string name;  // [A-Za-z0-9_.:-]{1,64}
  std::string description;
  json::Shared parameters;  // JSON Schema of an object
  Idempotence idempotence = Idempotence::kOnce;
};

// A JSON Schema that is part of the program, from its text; text that is no JSON stops the program.
json::Value parameters(std::string_view schema);

// Something a model can call. Lives on the loop (blocking work goes to the pool), shared by the registry and running calls.
class Tool {
 public:
  virtual ~Tool() = default;
  virtual const ToolInfo& info() const = 0;
  // Whether a person must agree to this call. Evaluated on the final arguments.
  virtual Approval approval(const json::Value& arguments) const = 0;
  // What a person must agree to although the arguments do not show it: that the call would destroy something of theirs. Asked whatever was
  // approved before, and the question says what will happen. nullopt = nothing. An Error refuses the call.
  virtual Task<Result<std::optional<std::string>>> question(Scope scope, json::Value arguments);
  // The arguments have passed the schema. An Error is for the engine's own failures (cancelled, timeout); what the model did wrong or can work
  // around is a ToolResult with is_error.
  virtual Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) = 0;
};
using ToolPtr = std::shared_ptr<Tool>;

}  // namespace chela::tools
