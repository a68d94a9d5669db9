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

// How long an answer may be, thoughts and all, and how many of its tokens are for thoughts. With kBudget; else `thoughts` is 0.
struct AnswerLength {
  std::int64_t most = 0;
  std::int64_t thoughts = 0;
};
// Whoever has said how long the answer may be (a limit of spending did, too) has said it of all of it: thoughts are inside, a quarter is left for
// the answer itself, and where that leaves fewer than the least that is taken there are none. Else they come on top of `otherwise`.
AnswerLength answer_length(std::optional<std::int64_t> asked, std::int64_t otherwise,
                           std::string_view effort);

// Newer models refuse temperature and its like.
bool takes_sampling(std::string_view model);

}  // namespace chela::llm::anthropic
