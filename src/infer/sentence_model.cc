#include "infer/sentence_model.h"

#include <cmath>
#include <filesystem>

#include "infer/limits.h"
#include "infer/llama_handles.h"

namespace chela::infer {
namespace {

Embedding normalised(const float* values, std::size_t count) {
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) squares += static_cast<double>(values[i]) * values[i];
  const double factor = squares > 0 ? 1.0 / std::sqrt(squares) : 0.0;
  Embedding out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(values[i] * factor);
  return out;
}

// Tokens of the texts that fit one batch, each text under its own sequence id.
class Batch {
 public:
  Batch() : batch_(llama_batch_init(kEmbeddingBatchTokens, 0, 1)) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void clear() {
    batch_.n_tokens = 0;
    texts_ = 0;
  }
  bool add(const std::vector<llama_token>& tokens) {
    const auto used = static_cast<std::size_t>(batch_.n_tokens);
    if (texts_ == kEmbeddingBatchTexts || used + tokens.size() > kEmbeddingBatchTokens) return false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto at = used + i;
      batch_.token[at] = tokens[i];
      batch_.pos[at] = static_cast<llama_pos>(i);
      batch_.n_seq_id[at] = 1;
      batch_.seq_id[at][0] = static_cast<llama_seq_id>(texts_);
      batch_.logits[at] = 1;
    }
    batch_.n_tokens = static_cast<int32_t>(used + tokens.size());
    ++texts_;
    return true;
  }
  std::size_t texts() const { return texts_; }
  llama_batch& raw() { return batch_; }

 private:
  llama_batch batch_;
  std::size_t texts_ = 0;
};

}  // namespace

struct SentenceModel::Impl {
  ModelHandle model;
  ContextHandle context;
  const llama_vocab* vocab = nullptr;
  std::size_t dimensions = 0;
  std::string identity;
  Batch batch;

  std::vector<llama_token> tokens(std::string_view text) const {
    // Far more bytes than kEmbeddingTokens can hold need not be looked at.
    auto tokens = tokens_of(vocab, text.substr(0, kMaxEmbeddingInputBytes), SpecialTokens::kAsText);
    if (tokens.size() > kEmbeddingTokens) {
      const auto end_mark = tokens.back();
      tokens.resize(kEmbeddingTokens);
      tokens.back() = end_mark;
    }
    return tokens;
  }
};

SentenceModel::SentenceModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SentenceModel::~SentenceModel() = default;

Result<std::unique_ptr<SentenceModel>> SentenceModel::create(const std::string& path, int threads) {
  auto model = load_model(path);
  if (!model) return fail(model.error());
  auto params = llama_context_default_params();
  params.n_ctx = kEmbeddingBatchTokens;
  params.n_batch = kEmbeddingBatchTokens;
  params.n_ubatch = kEmbeddingBatchTokens;
  params.n_seq_max = kEmbeddingBatchTexts;
  params.kv_unified = true;
  params.n_threads = threads;
  params.n_threads_batch = threads;
  params.embeddings = true;
  params.no_perf = true;
  auto impl = std::make_unique<Impl>();
  impl->model = *std::move(model);
  impl->context.reset(llama_init_from_model(impl->model.get(), params));
  if (!impl->context) return fail(Code::kInternal, "no memory for the embedding model {}", path);
  impl->vocab = llama_model_get_vocab(impl->model.get());
  impl->dimensions = static_cast<std::size_t>(llama_model_n_embd(impl->model.get()));
  std::error_code ignored;
  impl->identity = std::filesystem::path(path).filename().string() + ":" +
                   std::to_string(std::filesystem::file_size(path, ignored));
  return std::unique_ptr<SentenceModel>(new SentenceModel(std::move(impl)));
}

Result<std::vector<Embedding>> SentenceModel::embed(std::span<const std::string> texts) {
  std::vector<Embedding> out;
  out.reserve(texts.size());
  auto& batch = impl_->batch;
  while (out.size() < texts.size()) {
    batch.clear();
    for (std::size_t i = out.size(); i < texts.size() && batch.add(impl_->tokens(texts[i])); ++i) {
    }
    if (llama_decode(impl_->context.get(), batch.raw()) != 0)
      return fail(Code::kInternal, "the embedding model could not compute {} texts", batch.texts());
    for (std::size_t i = 0; i < batch.texts(); ++i) {
      const float* values = llama_get_embeddings_seq(impl_->context.get(), static_cast<llama_seq_id>(i));
      if (values == nullptr)
        return fail(Code::kUnprocessable, "the embedding model pools no sentences; use a sentence model");
      out.push_back(normalised(values, impl_->dimensions));
    }
  }
  return out;
}

std::size_t SentenceModel::count_tokens(std::string_view text) const {
  return tokens_of(impl_->vocab, text, SpecialTokens::kAsText).size();
}
std::string_view SentenceModel::identity() const { return impl_->identity; }
std::size_t SentenceModel::dimensions() const { return impl_->dimensions; }

}  // namespace chela::infer
