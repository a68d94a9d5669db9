#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "llm/routing/words.h"

namespace chela::llm::routing {

// Lists of phrases that are looked for together, as whole words: "machine" has no "hi". Made once; a text costs one look-up a word and at
// most kMaxPhraseWords steps from each.
class Phrases {
 public:
  // Phrases are separated by commas: "first, next, followed by".
  explicit Phrases(std::span<const std::string_view> lists);

  // How often the phrases of each list stand in the text.
  std::vector<int> count(const Words& words) const;
  // The first of the list's phrases in the text, "" when there is none.
  std::string first(const Words& words, std::size_t list) const;
  // found(list, number of its first word) for each phrase in the text, in its order.
  template <class Found>
  void each(const Words& words, const Found& found) const {
    const std::vector<std::uint32_t> ids = numbers(words);
    for (std::size_t i = 0; i < ids.size(); ++i)
      walk(std::span(ids).subspan(i), [&found, i](std::uint32_t list, std::size_t) { found(list, i); });
  }
  // Whether the text is nothing but phrases of the list, one after the other.
  bool is_made_of(const Words& words, std::size_t list) const;

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;  // a word that no phrase has

  struct Node {
    std::map<std::uint32_t, std::uint32_t> next;  // by word
    std::vector<std::uint32_t> lists;             // that a phrase which ends here belongs to
  };

  std::vector<std::uint32_t> numbers(const Words& words) const;
  // found(list, number of words) for each phrase that the words begin with, the shortest first.
  template <class Found>
  void walk(std::span<const std::uint32_t> words, const Found& found) const {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < words.size() && words[i] != kUnknown; ++i) {
      const auto next = nodes_[at].next.find(words[i]);
      if (next == nodes_[at].next.end()) return;
      at = next->second;
      for (const std::uint32_t list : nodes_[at].lists) found(list, i + 1);
    }
  }
  void add(std::uint32_t list, const Words& phrase);

  std::unordered_map<std::string, std::uint32_t, strings::Hash, std::equal_to<>> vocabulary_;
  std::vector<Node> nodes_;
  std::size_t lists_;
};

}  // namespace chela::llm::routing
