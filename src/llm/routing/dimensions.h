#pragma once

#include <array>
#include <string_view>

#include "llm/routing/decision.h"

namespace chela::llm::routing {

// What the scorer goes by, as data. A dimension's score is what its matches and its measure give together, at most 100.
struct Dimension {
  // Found in the text beside words.
  enum class Measure { kNone, kLength, kCode, kQuestionMarks, kNumbers, kClauses };
  std::string_view name;
  int weight = 0;  // percent; they sum up to 100
  int each = 0;    // points for each phrase that is found
  Measure measure = Measure::kNone;
  std::string_view phrases = {};  // separated by commas
};

const std::array<Dimension, kDimensions>& dimensions();

// Tiers begin at these scores.
constexpr int kStandardFrom = 16;
constexpr int kProFrom = 41;
constexpr int kFrontierFrom = 66;

constexpr int kDimensionCap = 100;
// A dimension past the first stands out; so many of them give so many percent of the sum.
constexpr int kStandsOut = 20;
constexpr int kBoostOfTwo = 115;
constexpr int kBoostOfThree = 130;

// Measures.
constexpr int kFreeBytes = 20;  // of a message's length
constexpr int kBytesAPoint = 5;
constexpr int kPointsACodeMark = 50;
constexpr int kPointsAQuestionMark = 20;
constexpr int kPointsANumber = 50;
constexpr int kPointsAClause = 12;

}  // namespace chela::llm::routing
