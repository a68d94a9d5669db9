#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/provider.h"

namespace chela::llm {

// What of a request a model reads: everything, or (one too small to profit from it) the conversation alone, which then has the whole
// context to itself.
enum class PromptStyle { kFull, kMinimal };

// How a model is offered tools: by its protocol, or in the prompt, to be called in text.
enum class ToolCalling { kNative, kPrompted };
std::string_view tool_calling_name(ToolCalling calling);  // "native", "prompted"
std::optional<ToolCalling> tool_calling_from_name(std::string_view name);

// US dollars for a million tokens.
struct Price {
  double input = 0;
  double output = 0;
  double cached_input = 0;  // that the provider's cache served
};

struct ModelInfo {
  std::string id;                   // exact, or with a '*' at the end for all ids that begin so
  std::int64_t context_tokens = 0;  // 0: not known
  PromptStyle prompt = PromptStyle::kFull;
  ToolCalling tools = ToolCalling::kNative;
  bool sees_images = false;
  std::optional<Price> price = std::nullopt;  // nothing: not known
  std::vector<std::string> files = {};        // what a local model needs under $CHELA_HOME/models
};

// US dollars.
double cost_of(const Usage& usage, const Price& price);

// What is known about models: share/models/catalog.json. Immutable.
class Catalog {
 public:
  // kInvalidArgument says which entry is wrong.
  static Result<Catalog> parse(std::string_view json_text);

  // The entry of the id: an exact one, else the longest that it begins with, else one that knows nothing but the id. A provider's
  // name in front ("openai/gpt-4o") is passed over when the whole id is not known.
  ModelInfo find(std::string_view id) const;

 private:
  const ModelInfo* lookup(std::string_view id) const;

  std::vector<ModelInfo> models_;
};

}  // namespace chela::llm
