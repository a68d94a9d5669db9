#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela::llm {

// How much the engine tells a model beside the conversation: everything, or (for models too small to profit from it) the least.
enum class PromptStyle { kFull, kMinimal };

struct ModelInfo {
  std::string id;                   // exact, or with a '*' at the end for all ids that begin so
  std::int64_t context_tokens = 0;  // 0: not known
  PromptStyle prompt = PromptStyle::kFull;
  std::vector<std::string> files = {};  // what a local model needs under $CHELA_HOME/models
};

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
