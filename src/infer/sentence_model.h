// The sentence embedder over libllama (a BERT-like GGUF; how it pools is in the file).
#pragma once

#include <memory>

#include "infer/sentence_embedder.h"

namespace chela::infer {

class SentenceModel final : public SentenceEmbedder {
 public:
  // Loads the file. `threads` computes; one on small machines, because ggml's barriers spin.
  static Result<std::unique_ptr<SentenceModel>> create(const std::string& path, int threads);
  ~SentenceModel() override;

  Result<std::vector<Embedding>> embed(std::span<const std::string> texts) override;
  std::size_t count_tokens(std::string_view text) const override;
  std::string_view identity() const override;
  std::size_t dimensions() const;

 private:
  struct Impl;
  explicit SentenceModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace chela::infer
