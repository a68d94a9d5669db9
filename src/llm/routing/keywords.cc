#include "llm/routing/keywords.h"

#include <fmt/format.h>

#include "llm/routing/phrases.h"

namespace chela::llm::routing {
namespace {

constexpr std::size_t kLongBytes = 1000;
constexpr std::size_t kShortBytes = 200;
constexpr std::size_t kTinyBytes = 10;

constexpr std::array<std::string_view, 2> kLists{
    "implement, refactor, analyze, analyse, debug, create a, create an, build a, build an, design, fix the, "
    "fix this, "
    "write a, write an, write the, explain how, explain why, explain the, compare, optimize, optimise, "
    "review, "
    "rewrite, migrate, architect, integrate",
    "list, show, what is, what's, status, help, yes, no, ok, thanks, thank you, hello, hi, hey, ping, "
    "version, "
    "how many, when, where is, who"};
constexpr std::size_t kHard = 0;
constexpr std::size_t kEasy = 1;

const Phrases& phrases() {
  static const Phrases made(kLists);
  return made;
}

}  // namespace

KeywordVerdict judge_by_keywords(const Words& words) {
  if (words.bytes() == 0) return {Complexity::kSimple, "an empty message"};
  if (words.text().find("```") != std::string_view::npos) return {Complexity::kComplex, "it holds code"};
  if (const std::string hard = phrases().first(words, kHard); !hard.empty())
    return {Complexity::kComplex, fmt::format("it says '{}'", hard)};
  if (words.bytes() >= kLongBytes)
    return {Complexity::kComplex, fmt::format("it has {} bytes", words.bytes())};
  if (words.bytes() <= kShortBytes) {
    if (const std::string easy = phrases().first(words, kEasy); !easy.empty())
      return {Complexity::kSimple, fmt::format("it is short and says '{}'", easy)};
  }
  if (words.bytes() <= kTinyBytes) return {Complexity::kSimple, "it is very short"};
  return {Complexity::kModerate, "no word decides"};
}

}  // namespace chela::llm::routing
