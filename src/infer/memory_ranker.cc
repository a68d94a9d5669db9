#include "infer/memory_ranker.h"

#include <algorithm>

#include "infer/limits.h"
#include "infer/words.h"

namespace chela::infer {
namespace {

constexpr float kSharedWords = 0.4F;   // weight of the share of the question's key words that a sentence has
constexpr float kNearTheBest = 0.12F;  // further sentences are quoted when they score this close

}  // namespace

Result<std::vector<RankedSentence>> rank_sentences(SentenceEmbedder& embedder, std::string_view question,
                                                   const std::vector<std::string>& sources, float least) {
  std::vector<RankedSentence> found;
  std::vector<std::string> texts = {std::string(question)};
  for (const auto& source : sources) {
    for (auto& sentence : sentences_of(source)) {
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const RankedSentence& other) { return other.text == sentence; });
      if (known || sentence.ends_with('?') || words_of(sentence).size() < 2 ||
          found.size() >= kMaxRankedSentences)
        continue;
      texts.push_back(sentence);
      found.push_back({.text = std::move(sentence)});
    }
  }
  if (found.empty()) return found;
  auto vectors = embedder.embed(texts);
  if (!vectors) return fail(vectors.error());
  const auto keywords = keywords_of(question);
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].score = similarity((*vectors)[0], (*vectors)[i + 1]) +
                     kSharedWords * overlap(keywords, words_of(found[i].text));
  }
  std::sort(found.begin(), found.end(), [](const RankedSentence& a, const RankedSentence& b) {
    return a.score != b.score ? a.score > b.score : a.text < b.text;
  });
  const float bar = std::max(least, found.front().score - kNearTheBest);
  std::erase_if(found, [&](const RankedSentence& sentence) { return sentence.score < bar; });
  if (found.size() > kMaxQuotedMemories) found.resize(kMaxQuotedMemories);
  return found;
}

}  // namespace chela::infer
