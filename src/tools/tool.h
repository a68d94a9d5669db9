#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
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

struct ToolResult {
  std::vector<Part> parts;
  bool is_error = false;
  Taint taint = Taint::kTrusted;

  static ToolResult text(std::string text);
  static ToolResult json(json::Value value);
  static ToolResult error(std::string message);  // says what was wrong and what the model can do
};

enum class Approval { kNever, kUnlessAutoApproved, kAlways };
enum class Idempotence { kRepeatable, kOnce };  // kRepeatable may run again after a crash

struct ToolContext {
  Scope scope;
  std::string thread;
  std::string turn;
  std::string call_id;
  SteadyTime deadline;
  std::stop_token stop;
  std::function<void(std::string)> progress;  // may be empty
};

struct ToolInfo {
  std::string name;  // [A-Za-z0-9_.:-]{1,64}
  std::string description;
  json::Shared parameters;  // JSON Schema of an object
  Idempotence idempotence = Idempotence::kOnce;
};

// A JSON Schema that is part of the program, from its text; text that is no JSON stops the program.
json::Value parameters(std::string_view schema);

// Something a model can call. Lives on the loop (blocking work goes to the pool), owned by the registry.
class Tool {
 public:
  virtual ~Tool() = default;
  virtual const ToolInfo& info() const = 0;
  // Whether a person must agree to this call. Evaluated on the final arguments.
  virtual Approval approval(const json::Value& arguments) const = 0;
  // The arguments have passed the schema. An Error is for the engine's own failures (cancelled, timeout); what the model did wrong or can work
  // around is a ToolResult with is_error.
  virtual Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) = 0;
};

}  // namespace chela::tools
