// The example requests that routing compares with, and their vectors on disk.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "infer/sentence_embedder.h"

namespace chela::infer {

struct Example {
  std::string label;  // a tool's name, "about" or "none"
  std::string phrase;
};

// Lines "label<TAB>phrase"; empty lines and those with '#' are skipped. A line without a tab is an error that says its number.
Result<std::vector<Example>> parse_examples(std::string_view tsv);

// The text of share/infer/examples.tsv and places.tsv, which the build puts into the program.
std::string_view builtin_examples();
std::string_view builtin_places();

// The vectors of `texts`, from the cache folder when a file for this content and model is there and whole, else computed and
// stored for next time. A folder that cannot be written costs only time.
Result<std::vector<Embedding>> cached_vectors(SentenceEmbedder& embedder,
                                              const std::vector<std::string>& texts,
                                              const std::filesystem::path& cache);

}  // namespace chela::infer
