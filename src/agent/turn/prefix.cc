#include "agent/turn/prefix.h"

#include <algorithm>
#include <array>

#include "crypto/hash.h"

namespace chela::agent::turn {
namespace {

constexpr std::array<std::string_view, 3> kNames{"first", "kept", "changed"};

std::size_t system_messages(const llm::Request& request) {
  const auto other = std::ranges::find_if(
      request.messages, [](const llm::Message& each) { return each.role != llm::Role::kSystem; });
  return static_cast<std::size_t>(other - request.messages.begin());
}

}  // namespace

std::string_view prefix_name(Prefix prefix) { return kNames[static_cast<std::size_t>(prefix)]; }

std::optional<Prefix> prefix_from_name(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Prefix>(found - kNames.begin());
}

PrefixNote PrefixTracker::next(const llm::Request& request, std::string_view tools_hash) {
  const bool first = whole_.empty();
  const std::size_t shared = std::min(first ? system_messages(request) : messages_, request.messages.size());
  // A chain: the hash after n messages is that of the prompt's beginning up to there.
  std::string hash = crypto::content_hash(fmt::format("{}\n{}", request.model, tools_hash));
  PrefixNote note{.hash = hash, .messages = static_cast<std::int64_t>(shared)};
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    hash = crypto::content_hash(hash + json::write(llm::to_json(request.messages[i])));
    if (i + 1 == shared) note.hash = hash;
  }
  if (!first) note.is = note.hash == whole_ ? Prefix::kKept : Prefix::kChanged;
  whole_ = std::move(hash);
  messages_ = request.messages.size();
  return note;
}

}  // namespace chela::agent::turn
