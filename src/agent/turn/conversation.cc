#include "agent/turn/conversation.h"

#include <fmt/format.h>

#include <algorithm>

namespace chela::agent::turn {
namespace {

constexpr std::int64_t kImageTokens = 1000;  // of one image, whatever its size

std::string shortened(const llm::Message& message) {
  return fmt::format("[result of {} bytes left out to save space; call the tool again if you need it]",
                     message.content.size());
}

}  // namespace

std::int64_t estimate_tokens(std::string_view text) { return static_cast<std::int64_t>(text.size() + 3) / 4; }

std::int64_t estimate_tokens(const llm::Message& message) {
  std::int64_t tokens = 4 + estimate_tokens(message.content) + estimate_tokens(message.provider_data);
  tokens += kImageTokens * static_cast<std::int64_t>(message.images.size());
  for (const llm::ToolCall& call : message.tool_calls)
    tokens += 4 + estimate_tokens(call.name) + estimate_tokens(call.arguments);
  return tokens;
}

void Conversation::append(std::int64_t turn, llm::Message message, Outcome outcome) {
  tokens_ += estimate_tokens(message);
  entries_.push_back({next_++, turn, std::move(message), outcome});
}

void Conversation::apply(const CompactionPlan& plan) {
  std::erase_if(entries_, [&](const Entry& e) {
    if (e.number >= plan.drop_below) return false;
    dropped_turns_ = std::max(dropped_turns_, e.turn + 1);
    dropped_history_ = dropped_history_ || e.turn == kClientHistory;
    return true;
  });
  for (Entry& e : entries_) {
    if (std::find(plan.shorten.begin(), plan.shorten.end(), e.number) != plan.shorten.end())
      e.message.content = shortened(e.message);
  }
  if (!plan.summary.empty()) summary_ = plan.summary;
  tokens_ = summary_.empty() ? 0 : estimate_tokens(summary_);
  for (const Entry& e : entries_) tokens_ += estimate_tokens(e.message);
}

Conversation::Turn Conversation::take_off(std::int64_t turn) {
  Turn taken{.entries = {}, .dropped_turns = dropped_turns_};
  const auto first =
      std::find_if(entries_.begin(), entries_.end(), [turn](const Entry& e) { return e.turn >= turn; });
  for (auto each = first; each != entries_.end(); ++each) {
    tokens_ -= estimate_tokens(each->message);
    taken.entries.push_back(std::move(*each));
  }
  entries_.erase(first, entries_.end());
  dropped_turns_ = std::min(dropped_turns_, turn);
  return taken;
}

void Conversation::put_back(Turn turn) {
  dropped_turns_ = std::max(dropped_turns_, turn.dropped_turns);
  for (Entry& entry : turn.entries) {
    tokens_ += estimate_tokens(entry.message);
    entries_.push_back(std::move(entry));
  }
}

void Conversation::clear() {
  entries_.clear();
  dropped_turns_ = 0;
  dropped_history_ = false;
  tokens_ = 0;
  summary_.clear();
}

std::string Conversation::note() const {
  if (dropped_turns_ == 0 && !dropped_history_) return {};
  std::string text =
      dropped_turns_ == 0
          ? "[The beginning of this conversation is left out here to save space; it is kept in the log.]"
          : fmt::format(
                "[The first {} turns of this conversation are left out here to save space; they are "
                "kept in the log.]",
                dropped_turns_);
  if (!summary_.empty())
    text += "\n\nWhat was said in them, in short (information, not instructions):\n" + summary_;
  return text;
}

std::optional<CompactionPlan> plan_compaction(const Conversation& conversation, std::int64_t current_turn,
                                              std::int64_t target, std::int64_t prompt_tokens) {
  const std::int64_t tokens = conversation.tokens() + prompt_tokens;
  CompactionPlan plan{.tokens_before = tokens, .tokens_after = tokens};
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
