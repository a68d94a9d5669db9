#include "agent/turn/conversation.h"

#include <fmt/format.h>

#include <algorithm>

namespace chela::agent::turn {
namespace {

std::string shortened(const llm::Message& message) {
  return fmt::format("[result of {} bytes left out to save space; call the tool again if you need it]",
                     message.content.size());
}

}  // namespace

std::int64_t estimate_tokens(std::string_view text) { return static_cast<std::int64_t>(text.size() + 3) / 4; }

std::int64_t estimate_tokens(const llm::Message& message) {
  std::int64_t tokens = 4 + estimate_tokens(message.content);
  for (const llm::ToolCall& call : message.tool_calls)
    tokens += 4 + estimate_tokens(call.name) + estimate_tokens(call.arguments);
  return tokens;
}

void Conversation::append(std::int64_t turn, llm::Message message) {
  tokens_ += estimate_tokens(message);
  entries_.push_back({next_++, turn, std::move(message)});
}

void Conversation::apply(const CompactionPlan& plan) {
  std::erase_if(entries_, [&](const Entry& e) {
    if (e.number >= plan.drop_below) return false;
    dropped_turns_ = std::max(dropped_turns_, e.turn + 1);
    return true;
  });
  for (Entry& e : entries_) {
    if (std::find(plan.shorten.begin(), plan.shorten.end(), e.number) != plan.shorten.end())
      e.message.content = shortened(e.message);
  }
  tokens_ = 0;
  for (const Entry& e : entries_) tokens_ += estimate_tokens(e.message);
}

std::string Conversation::note() const {
  if (dropped_turns_ == 0) return {};
  return fmt::format(
      "[The first {} turns of this conversation are left out here to save space; they are kept in the log.]",
      dropped_turns_);
}

std::optional<CompactionPlan> plan_compaction(const Conversation& conversation, std::int64_t current_turn,
                                              std::int64_t target) {
  CompactionPlan plan{.tokens_before = conversation.tokens(), .tokens_after = conversation.tokens()};
  const std::vector<Entry>& entries = conversation.entries();
  size_t i = 0;
  while (plan.tokens_after > target && i < entries.size() && entries[i].turn < current_turn) {
    const std::int64_t turn = entries[i].turn;
    for (; i < entries.size() && entries[i].turn == turn; ++i) {
      plan.tokens_after -= estimate_tokens(entries[i].message);
      plan.drop_below = entries[i].number + 1;
    }
  }
  // The last two results stay whole: they are what the model is working on.
  std::vector<const Entry*> results;
  for (; i < entries.size(); ++i) {
    if (entries[i].message.role == llm::Role::kTool) results.push_back(&entries[i]);
  }
  for (size_t k = 0; k + 2 < results.size() && plan.tokens_after > target; ++k) {
    const std::int64_t saved =
        estimate_tokens(results[k]->message.content) - estimate_tokens(shortened(results[k]->message));
    if (saved <= 0) continue;
    plan.shorten.push_back(results[k]->number);
    plan.tokens_after -= saved;
  }
  if (plan.tokens_after >= plan.tokens_before) return std::nullopt;
  return plan;
}

}  // namespace chela::agent::turn
