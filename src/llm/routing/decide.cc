#include "llm/routing/decide.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>
#include <vector>

#include "llm/routing/keywords.h"
#include "llm/routing/overrides.h"
#include "llm/routing/scorer.h"

namespace chela::llm::routing {
namespace {

constexpr std::array<std::string_view, 4> kTiers{"flash", "standard", "pro", "frontier"};
constexpr std::array<std::string_view, 3> kComplexities{"simple", "moderate", "complex"};
constexpr std::array<std::string_view, 2> kMethods{"score", "keywords"};
constexpr std::array<std::string_view, 4> kBys{"hint", "pattern", "score", "keywords"};
constexpr std::size_t kNamedDimensions = 3;

template <class E, std::size_t n>
std::optional<E> from_name(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

// The dimensions that gave the most, the strongest first.
std::vector<const DimensionScore*> strongest(const Score& score) {
  std::vector<const DimensionScore*> found;
  for (const DimensionScore& each : score.dimensions) {
    if (each.score > 0) found.push_back(&each);
  }
  std::ranges::sort(found, [](const DimensionScore* a, const DimensionScore* b) {
    const int of_a = a->score * a->weight;
    const int of_b = b->score * b->weight;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return found;
}

std::string reason_of(const Score& score) {
  std::string reason = fmt::format("score {}", score.total);
  std::vector<const DimensionScore*> named = strongest(score);
  named.resize(std::min(named.size(), kNamedDimensions));
  for (std::size_t i = 0; i < named.size(); ++i)
    reason += fmt::format("{} {} {}", i == 0 ? ":" : ",", named[i]->name, named[i]->score);
  return reason;
}

Tier tier_of(Complexity complexity) {
  if (complexity == Complexity::kSimple) return Tier::kFlash;
  return complexity == Complexity::kModerate ? Tier::kPro : Tier::kFrontier;
}

}  // namespace

std::string_view tier_name(Tier tier) { return kTiers[static_cast<std::size_t>(tier)]; }
std::optional<Tier> tier_from_name(std::string_view name) { return from_name<Tier>(kTiers, name); }
std::string_view complexity_name(Complexity complexity) {
  return kComplexities[static_cast<std::size_t>(complexity)];
}
std::string_view method_name(Method method) { return kMethods[static_cast<std::size_t>(method)]; }
std::optional<Method> method_from_name(std::string_view name) { return from_name<Method>(kMethods, name); }
std::string_view by_name(Decision::By by) { return kBys[static_cast<std::size_t>(by)]; }

Complexity complexity_of(Tier tier) {
  if (tier == Tier::kFrontier) return Complexity::kComplex;
  return tier == Tier::kPro ? Complexity::kModerate : Complexity::kSimple;
}

Decision decide(std::string_view message, Method method) {
  const Words words(own_words(message));
  Decision out{.score = score(words)};
  const auto decided = [&out](Decision::By by, Tier tier, std::string reason) {
    out.by = by;
    out.tier = tier;
    out.complexity = complexity_of(tier);
    out.reason = std::move(reason);
    return out;
  };
  if (const std::optional<Tier> hint = hinted_tier(words.text()))
    return decided(Decision::By::kHint, *hint, fmt::format("asked for with [tier:{}]", tier_name(*hint)));
  if (std::optional<Override> pattern = matched_pattern(words))
    return decided(Decision::By::kPattern, pattern->tier, std::move(pattern->reason));
  if (method == Method::kScore)
    return decided(Decision::By::kScore, tier_of(out.score.total), reason_of(out.score));
  KeywordVerdict verdict = judge_by_keywords(words);
  return decided(Decision::By::kKeywords, tier_of(verdict.complexity), std::move(verdict.reason));
}

json::Value to_json(const Decision& decision, Detail detail) {
  json::Value out = json::Value::object({{"tier", tier_name(decision.tier)},
                                         {"complexity", complexity_name(decision.complexity)},
                                         {"by", by_name(decision.by)},
                                         {"reason", decision.reason},
                                         {"score", decision.score.total}});
  if (detail == Detail::kShort) return out;
  json::Value dimensions = json::Value::array();
  for (const DimensionScore& each : decision.score.dimensions)
    dimensions.push_back(
        json::Value::object({{"name", each.name}, {"weight", each.weight}, {"score", each.score}}));
  out.set("boost", decision.score.boost);
  out.set("dimensions", std::move(dimensions));
  return out;
}

}  // namespace chela::llm::routing
