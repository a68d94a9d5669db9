#include "llm/routing/overrides.h"

#include <fmt/format.h>
#include <array>

#include "base/strings.h"
#include "llm/routing/limits.h"
#include "llm/routing/phrases.h"

namespace chela::llm::routing {
namespace {

constexpr std::string_view kHint = "[tier:";

// The lists of Phrases below.
enum List : std::size_t {
  kGreeting,
  kSmallTalk,
  kTopic,
  kSecurity,
  kLookOver,
  kWeakness,
  kLookInto,
  kDeploy,
  kLive,
  kProduction,
  kRelease,
  kLists
};

constexpr std::array<std::string_view, kLists> kPhrases{
    "hi, hello, hey, thanks, thank you, ok, okay, sure, yes, no, yep, nope, cool, nice, great, got it, hi "
    "there, "
    "hello there, hey there, good morning, good evening, thanks a lot, thank you very much",
    "what is, what's, what, is, it, the, current, right now, now, today, tomorrow, today's, tomorrow's, "
    "like, outside, "
    "time, date, day, weather, here, please",
    "time, date, day, weather",
    "security",
    "audit, audits, audited, auditing, review, reviews, reviewed, reviewing, scan, scans, scanned, scanning",
    "vulnerability, vulnerabilities",
    "review, reviews, reviewing, scan, scans, scanning, check, checks, checking, audit, audits, auditing",
    "deploy, deploys, deployed, deploying, deployment, deployments",
    "mainnet, production",
    "production",
    "deploy, deploys, deployed, deploying, deployment, release, releases, released, push, pushes, pushed",
};

const Phrases& phrases() {
  static const Phrases made(kPhrases);
  return made;
}

// One thing and later, in the same line, the other.
struct Pair {
  List before;
  List after;
  Tier tier;
  std::string_view what;
};
constexpr std::array<Pair, 4> kPairs{{
    {kSecurity, kLookOver, Tier::kFrontier, "a review of security"},
    {kWeakness, kLookInto, Tier::kFrontier, "a search for vulnerabilities"},
    {kDeploy, kLive, Tier::kPro, "a deployment into production"},
    {kProduction, kRelease, Tier::kPro, "a release into production"},
}};

bool stands_in_one_line(const Words& words, const Pair& pair) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t begun = kNone;  // the line of the first thing
  bool found = false;
  phrases().each(words, [&](std::size_t list, std::size_t at) {
    if (list == pair.after && words.line(at) == begun) found = true;
    if (list == pair.before && words.line(at) != begun) begun = words.line(at);
  });
  return found;
}

bool is_small_talk(const Words& words) {
  if (words.size() < 2 || words.size() > kMaxSmallTalkWords || !words[0].starts_with("what")) return false;
  return phrases().is_made_of(words, kSmallTalk) && !phrases().first(words, kTopic).empty();
}

}  // namespace

std::optional<Tier> hinted_tier(std::string_view text) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    const std::string_view near = text.substr(at, kMaxHintBytes);
    if (!strings::iequals(near.substr(0, kHint.size()), kHint)) continue;
    const std::size_t end = near.find(']');
    if (end == std::string_view::npos) continue;
    const std::string name = strings::lower(strings::trim(near.substr(kHint.size(), end - kHint.size())));
    if (const std::optional<Tier> tier = tier_from_name(name)) return tier;
  }
  return std::nullopt;
}

std::optional<Override> matched_pattern(const Words& words) {
  if (words.size() <= kMaxGreetingWords && phrases().is_made_of(words, kGreeting))
    return Override{Tier::kFlash, "a greeting or an acknowledgement"};
  if (is_small_talk(words)) return Override{Tier::kFlash, "it asks for the time, the date or the weather"};
  for (const Pair& pair : kPairs) {
    if (stands_in_one_line(words, pair)) return Override{pair.tier, std::string(pair.what)};
  }
  return std::nullopt;
}

}  // namespace chela::llm::routing
