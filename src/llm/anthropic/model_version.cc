#include "llm/anthropic/model_version.h"

#include <algorithm>

#include "base/strings.h"
#include "llm/anthropic/limits.h"

namespace chela::llm::anthropic {
namespace {

constexpr ModelVersion kFirstThinking{3, 7};
constexpr ModelVersion kFirstAdaptive{4, 6};
constexpr ModelVersion kFirstWithoutSampling{4, 7};

// A part of a version: longer numbers are dates.
std::optional<int> small_number(std::string_view text) {
  const std::optional<int> number = strings::parse_int<int>(text);
  return number && *number >= 0 && text.size() <= 2 ? number : std::nullopt;
}

}  // namespace

std::optional<ModelVersion> model_version(std::string_view id) {
  constexpr std::string_view kFamily = "claude-";
  const size_t at = id.find(kFamily);
  if (at == std::string_view::npos) return std::nullopt;
  std::optional<ModelVersion> version;
  for (const std::string_view part : strings::split(id.substr(at + kFamily.size()), '-')) {
    const std::optional<int> number = small_number(part);
    if (version) {
      if (number) version->minor = *number;
      return version;
    }
    if (number) version = ModelVersion{.major = *number};
  }
  return version;
}

Thinking thinking_of(std::string_view model) {
  const std::optional<ModelVersion> version = model_version(model);
  if (!version || *version < kFirstThinking) return Thinking::kNone;
  return *version < kFirstAdaptive ? Thinking::kBudget : Thinking::kAdaptive;
}

std::int64_t thinking_budget(std::string_view effort) {
  if (effort == "high" || effort == "xhigh" || effort == "max") return 16 * kMinThinkingTokens;
  return effort == "medium" ? 4 * kMinThinkingTokens : kMinThinkingTokens;
}

AnswerLength answer_length(std::optional<std::int64_t> asked, std::int64_t otherwise,
                           std::string_view effort) {
  const std::int64_t wanted = thinking_budget(effort);
  if (!asked) return {.most = otherwise + wanted, .thoughts = wanted};
  const std::int64_t most = std::max<std::int64_t>(*asked, 1);
  const std::int64_t room = most - most / 4;
  return {.most = most, .thoughts = room < kMinThinkingTokens ? 0 : std::min(wanted, room)};
}

bool takes_sampling(std::string_view model) {
  const std::optional<ModelVersion> version = model_version(model);
  return !version || *version < kFirstWithoutSampling;
}

}  // namespace chela::llm::anthropic
