#include "agent/commands/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/limits.h"
#include "base/strings.h"

namespace chela::agent::commands {
namespace {

constexpr size_t kMaxWordBytes = 32;        // longer ones begin a text
constexpr size_t kMaxApprovalBytes = 1024;  // of the JSON form

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '?';
}

// The slash word that a text begins with, "" when it begins with none.
std::string_view first_word(std::string_view text) {
  if (text.size() < 2 || text.front() != '/') return {};
  size_t end = 1;
  while (end < text.size() && is_word_byte(text[end])) ++end;
  if (end == 1 || end > kMaxWordBytes || (end < text.size() && !is_space(text[end]))) return {};
  return text.substr(0, end);
}

const Spec* find(std::string_view word) {
  for (const Spec& spec : table()) {
    if (std::find(spec.words.begin(), spec.words.end(), word) != spec.words.end()) return &spec;
  }
  return nullptr;
}

// How many letters differ; two neighbours in the wrong order count as one. Both are short.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t k = 0; k <= b.size(); ++k) cost[0][k] = k;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t changed = cost[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      cost[i][k] = std::min({cost[i - 1][k] + 1, cost[i][k - 1] + 1, changed});
      const bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (swapped) cost[i][k] = std::min(cost[i][k], cost[i - 2][k - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

Mistake unknown(const std::string& word) {
  std::string_view nearest;
  size_t least = SIZE_MAX;
  for (const Spec& spec : table()) {
    for (const std::string_view each : spec.words) {
      const size_t far = distance(word, each);
      if (far < least) {
        least = far;
        nearest = each;
      }
    }
  }
  return {.reply = fmt::format("Error: there is no command {}. The nearest is {}; /help lists them all.",
                               word, nearest)};
}

std::optional<ExecApproval> exec_approval(std::string_view text) {
  if (text.size() > kMaxApprovalBytes || !text.starts_with('{')) return std::nullopt;
  const Result<json::Value> value = json::parse(text);
  const json::Value* body = value ? value->find("ExecApproval") : nullptr;
  if (body == nullptr || value->as_object()->size() != 1) return std::nullopt;
  const json::Value* request = body->find("request_id");
  const json::Value* approved = body->find("approved");
  if (request == nullptr || !request->is_string() || approved == nullptr || !approved->is_bool())
    return std::nullopt;
  ExecApproval approval{.request_id = *request->as_string()};
  if (body->bool_or("approved", false))
    approval.decision = body->bool_or("always", false) ? Decision::kAlways : Decision::kApprove;
  return approval;
}

}  // namespace

Parsed parse(std::string_view text) {
  text = strings::trim(text);
  if (std::optional<ExecApproval> approval = exec_approval(text)) return std::move(*approval);
  const std::string word = strings::lower(first_word(text));
  if (word.empty()) return UserText{};
  const std::string_view rest = strings::trim(text.substr(word.size()));
  // Two words may be a command of their own: "/thread new".
  if (const Spec* two = rest.empty() ? nullptr : find(word + " " + strings::lower(rest)))
    return Command{.verb = two->verb};
  const Spec* spec = find(word);
  if (spec == nullptr) return unknown(word);
  if (!rest.empty() && spec->takes == Takes::kNothing)
    return Mistake{.reply = fmt::format("Error: {} takes nothing after it; nothing was done.", word),
                   .kind = Mistake::Kind::kArgument};
  return Command{.verb = spec->verb, .argument = std::string(rest)};
}

std::optional<Decision> spoken_decision(std::string_view text) {
  text = strings::trim(text);
  if (text.size() > kMaxWordBytes) return std::nullopt;
  const std::string word = strings::lower(text);
  for (const SpokenDecision& each : spoken_decisions()) {
    if (word == each.word) return each.decision;
  }
  return std::nullopt;
}

}  // namespace chela::agent::commands
