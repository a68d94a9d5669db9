#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace chela::llm::routing {

// How much of a model a message asks for.
enum class Tier { kFlash, kStandard, kPro, kFrontier };
std::string_view tier_name(Tier tier);  // "flash", ...
std::optional<Tier> tier_from_name(std::string_view name);

// Which of the configured models that is: the cheap one, the cheap one if it is up to it, the default one.
enum class Complexity { kSimple, kModerate, kComplex };
std::string_view complexity_name(Complexity complexity);  // "simple", ...
Complexity complexity_of(Tier tier);

// How messages are judged.
enum class Method { kScore, kKeywords };
std::string_view method_name(Method method);  // "score", "keywords"
std::optional<Method> method_from_name(std::string_view name);

constexpr std::size_t kDimensions = 13;

struct DimensionScore {
  std::string_view name;
  int weight = 0;  // percent
  int score = 0;   // 0 to 100

  bool operator==(const DimensionScore&) const = default;
};

struct Score {
  int total = 0;  // 0 to 100
  std::array<DimensionScore, kDimensions> dimensions = {};
  int boost = 100;  // percent: more when several dimensions stand out

  bool operator==(const Score&) const = default;
};

struct Decision {
  enum class By { kHint, kPattern, kScore, kKeywords };
  Tier tier = Tier::kFlash;
  Complexity complexity = Complexity::kSimple;
  By by = By::kScore;
  std::string reason = {};  // for people
  Score score = {};         // also where something else decided

  bool operator==(const Decision&) const = default;
};
std::string_view by_name(Decision::By by);  // "hint", "pattern", "score", "keywords"

// {tier, complexity, by, reason, score}; the dimensions that count for something are in it only where they are asked for.
enum class Detail { kShort, kDimensions };
json::Value to_json(const Decision& decision, Detail detail);

}  // namespace chela::llm::routing
