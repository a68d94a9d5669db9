#include "llm/routing/phrases.h"

#include <algorithm>

#include "base/check.h"
#include "llm/routing/limits.h"

namespace chela::llm::routing {

Phrases::Phrases(std::span<const std::string_view> lists) : nodes_(1), lists_(lists.size()) {
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    for (const std::string_view phrase : strings::split(lists[list], ',')) add(list, Words(phrase));
  }
}

void Phrases::add(std::uint32_t list, const Words& phrase) {
  CHELA_CHECK(phrase.size() > 0 && phrase.size() <= kMaxPhraseWords, "a phrase of the tables");
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < phrase.size(); ++i) {
    const auto word =
        vocabulary_.emplace(std::string(phrase[i]), static_cast<std::uint32_t>(vocabulary_.size()))
            .first->second;
    const auto [next, added] = nodes_[at].next.emplace(word, static_cast<std::uint32_t>(nodes_.size()));
    at = next->second;
    if (added) nodes_.emplace_back();
  }
  nodes_[at].lists.push_back(list);
}

std::vector<std::uint32_t> Phrases::numbers(const Words& words) const {
  std::vector<std::uint32_t> out;
  out.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto known = vocabulary_.find(words[i]);
    out.push_back(known == vocabulary_.end() ? kUnknown : known->second);
  }
  return out;
}

std::vector<int> Phrases::count(const Words& words) const {
  std::vector<int> counts(lists_, 0);
  each(words, [&counts](std::size_t list, std::size_t) { ++counts[list]; });
  return counts;
}

std::string Phrases::first(const Words& words, std::size_t list) const {
  const std::vector<std::uint32_t> ids = numbers(words);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::size_t length = 0;
    walk(std::span(ids).subspan(i), [&length, list](std::uint32_t of, std::size_t size) {
      if (of == list) length = size;
    });
    std::string phrase;
    for (std::size_t k = i; k < i + length; ++k) phrase += (k > i ? " " : "") + std::string(words[k]);
    if (length > 0) return phrase;
  }
  return {};
}

bool Phrases::is_made_of(const Words& words, std::size_t list) const {
  const std::vector<std::uint32_t> ids = numbers(words);
  std::size_t at = 0;
  while (at < ids.size()) {
    std::size_t length = 0;
    walk(std::span(ids).subspan(at), [&length, list](std::uint32_t of, std::size_t size) {
      if (of == list) length = size;
    });
    if (length == 0) return false;
    at += length;
  }
  return at > 0;
}

}  // namespace chela::llm::routing
