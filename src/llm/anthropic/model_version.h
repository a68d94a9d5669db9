#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chela::llm::anthropic {

// The generation of a Claude model by its id: "claude-sonnet-4-20250514" is 4.0, "claude-3-5-haiku-latest" 3.5. The ids of Bedrock
// ("us.anthropic.claude-...") are understood too.
struct ModelVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ModelVersion&) const = default;
};
std::optional<ModelVersion> model_version(std::string_view id);  // nothing: not Claude

// How a model is told to think. kBudget: with a number of tokens. kAdaptive: it decides by an effort.
enum class Thinking { kNone, kBudget, kAdaptive };
Thinking thinking_of(std::string_view model);

// The tokens that an effort ("low", "high") stands for, with kBudget.
std::int64_t thinking_budget(std::string_view effort);

// Newer models refuse temperature and its like.
bool takes_sampling(std::string_view model);

}  // namespace chela::llm::anthropic
