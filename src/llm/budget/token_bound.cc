#include "llm/budget/token_bound.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace chela::llm::budget {
namespace {

// What chat templates put around a prompt, a message and a tool; providers tell models of tools in a few hundred tokens of their own.
constexpr std::size_t kAroundPrompt = 64;
constexpr std::size_t kAroundMessage = 16;
constexpr std::size_t kAroundTool = 32;
constexpr std::size_t kAroundTools = 768;
constexpr std::size_t kImageTokens = 8192;  // of one image, of those providers that take most

// Hash and size of a prompt's beginning, part by part.
struct Walk {
  std::uint64_t hash;
  std::size_t bytes;

  void add(std::string_view text) {
    hash = (hash ^ std::hash<std::string_view>{}(text)) * 0x9E3779B97F4A7C15ULL + text.size();
    bytes += text.size();
  }
  void add(const Message& message) {
    bytes += kAroundMessage + kImageTokens * message.images.size();
    add(role_name(message.role));
    add(message.content);
    for (const ToolCall& call : message.tool_calls) {
      add(call.id);
      add(call.name);
      add(call.arguments);
    }
    add(message.tool_call_id);
    add(message.name);
    add(message.provider_data);
    for (const Image& image : message.images) add(image.hash);
  }
};

Walk begin(const Request& request) {
  Walk walk{.hash = 0, .bytes = kAroundPrompt};
  walk.add(request.model);
  if (!request.tools.empty()) walk.bytes += kAroundTools;
  std::string scratch;
  for (const ToolSpec& tool : request.tools) {
    walk.bytes += kAroundTool;
    walk.add(tool.name);
    walk.add(tool.description);
    scratch.clear();
    json::write_to(scratch, tool.parameters);
    walk.add(scratch);
  }
  walk.add(fmt::to_string(static_cast<int>(request.tool_choice)));
  walk.add(request.tool_choice_name);
  if (request.sampling.response_format) walk.add(json::write(*request.sampling.response_format));
  if (!request.extra.empty()) walk.add(json::write(json::Value(request.extra)));
  return walk;
}

}  // namespace

TokenBound::Prompt TokenBound::of(const Request& request) const {
  Walk walk = begin(request);
  Prompt prompt{.model = request.model};
  // The longest beginning that was counted.
  std::int64_t counted = 0;
  std::size_t counted_bytes = 0;
  const auto look = [&] {
    const auto found = known_.find(walk.hash);
    if (found == known_.end() || found->second.bytes != walk.bytes) return;
    counted = found->second.tokens;
    counted_bytes = walk.bytes;
  };
  bool in_head = true;
  for (const Message& message : request.messages) {
    if (in_head && message.role != Role::kSystem) {
      in_head = false;
      prompt.head = walk.hash;
      prompt.head_bytes = walk.bytes;
      look();
    }
    walk.add(message);
    if (message.role != Role::kSystem) look();
  }
  if (in_head) {
    prompt.head = walk.hash;
    prompt.head_bytes = walk.bytes;
    look();
  }
  prompt.whole = walk.hash;
  prompt.bytes = walk.bytes;
  prompt.plain = counted + static_cast<std::int64_t>(walk.bytes - counted_bytes);
  const auto more = added_.find(request.model);
  prompt.tokens = prompt.plain + (more != added_.end() ? more->second : 0);
  return prompt;
}

void TokenBound::keep(std::uint64_t hash, Known known) {
  const auto [found, added] = known_.try_emplace(hash, known);
  if (!added) {
    // Of a shared beginning the shortest prompt says most.
    if (found->second.bytes == known.bytes) known.tokens = std::min(known.tokens, found->second.tokens);
    found->second = known;
    return;
  }
  order_.push_back(hash);
  if (order_.size() <= kMaxKnownPrompts) return;
  known_.erase(order_.front());
  order_.pop_front();
}

void TokenBound::learn(const Prompt& prompt, std::int64_t input_tokens) {
  if (input_tokens <= 0) return;
  // Whoever says more than anybody adds is wrong, and must not close the model to everybody.
  input_tokens = std::min(input_tokens, static_cast<std::int64_t>(prompt.bytes) + kMaxAddedTokens);
  if (input_tokens > prompt.plain && prompt.plain > 0) {
    if (added_.size() >= kMaxCorrectedModels && !added_.contains(prompt.model)) added_.clear();
    std::int64_t& more = added_[prompt.model];
    more = std::max(more, std::min(input_tokens - prompt.plain, kMaxAddedTokens));
  }
  keep(prompt.whole, {.tokens = input_tokens, .bytes = prompt.bytes});
  // The beginning has no more tokens than the whole, nor than its bytes.
  keep(prompt.head, {.tokens = std::min(input_tokens, static_cast<std::int64_t>(prompt.head_bytes)),
                     .bytes = prompt.head_bytes});
}

std::int64_t estimate_answer_tokens(std::size_t bytes) { return static_cast<std::int64_t>(bytes + 2) / 3; }

}  // namespace chela::llm::budget
