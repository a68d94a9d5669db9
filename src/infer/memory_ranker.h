// Finds what was remembered that answers a question: by meaning (embeddings) and by shared words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "infer/sentence_embedder.h"

namespace chela::infer {

struct RankedSentence {
  std::string text;
  float score = 0;
};

// How sure a sentence must be. Recalled lines compete with a search that may know better, so they must be surer.
inline constexpr float kRelevant = 0.45F;
inline constexpr float kSurelyRelevant = 0.65F;

// The sentences of `sources` that reach `least`, best first, at most kMaxQuotedMemories, and only those near the best. Questions among
// the sources answer nothing and are left out.
Result<std::vector<RankedSentence>> rank_sentences(SentenceEmbedder& embedder, std::string_view question,
                                                   const std::vector<std::string>& sources, float least);

}  // namespace chela::infer
