#include "llm/decorators/call_ids.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace chela::llm {
namespace {

constexpr std::string_view kLettersAndDigits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kOursStart = "call_";
constexpr size_t kHashDigits = 10;  // letters and digits: nearly 60 bits

bool is_letter_or_digit(char c) { return kLettersAndDigits.contains(c); }

// FNV-1a: the same in every build, for ids must not change between turns.
std::uint64_t hash_of(std::string_view text, size_t salt) {
  std::uint64_t hash = 14695981039346656037ULL ^ salt;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash ^ (hash >> 29U);
}

std::string digits_of(std::uint64_t hash, size_t count) {
  std::string out;
  for (; out.size() < count; hash /= kLettersAndDigits.size())
    out += kLettersAndDigits[hash % kLettersAndDigits.size()];
  return out;
}

}  // namespace

bool CallIdMapping::takes(const std::string& id) const {
  if (form_ == CallIds::kNine) return id.size() == kNineCallId && std::ranges::all_of(id, is_letter_or_digit);
  return !id.empty() && id.size() <= kMaxPlainCallId &&
         std::ranges::all_of(id, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

std::string CallIdMapping::free_id(const std::string& id, size_t turn) {
  if (turn == 0 && takes(id) && !used_.contains(id)) return id;
  for (size_t salt = turn;; ++salt) {
    const std::uint64_t hash = hash_of(id, salt);
    std::string made = form_ == CallIds::kNine ? digits_of(hash, kNineCallId)
                                               : std::string(kOursStart) + digits_of(hash, kHashDigits);
    if (!used_.contains(made)) return made;
  }
}

std::string CallIdMapping::announced(const std::string& id) {
  std::string made = free_id(id, times_[id]++);
  used_.insert(made);
  return current_[id] = std::move(made);
}

void CallIdMapping::map(Message& message) {
  for (ToolCall& call : message.tool_calls) call.id = announced(call.id);
  if (message.role != Role::kTool) return;
  const auto known = current_.find(message.tool_call_id);
  message.tool_call_id = known != current_.end() ? known->second : announced(message.tool_call_id);
}

}  // namespace chela::llm
