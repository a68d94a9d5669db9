// The models of one folder: which there are, and those that are loaded. Nothing is loaded before it is needed; all goes when the
// process ends.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "infer/llama_chat.h"
#include "infer/router.h"
#include "infer/sentence_model.h"
#include "infer/small_model.h"

namespace chela::infer {

inline constexpr std::string_view kSmallId = "local/small";
inline constexpr std::string_view kEmbedderId = "local/minilm";
// What `chela models pull local/small` puts into the folder.
inline constexpr std::string_view kSmallFile = "smollm2-135m-instruct-q4_1.gguf";
inline constexpr std::string_view kEmbedderFile = "all-minilm-l6-v2-f16.gguf";

struct ModelHostOptions {
  std::filesystem::path models;
  int threads = 1;
};

// Loading and the models themselves belong to the inference thread; ids() and check() may be called from any.
class ModelHost final : public SmallModels {
 public:
  explicit ModelHost(ModelHostOptions options);

  // The ids that the folder can serve, sorted: the two above and "local/<file name without .gguf>" for every other file.
  std::vector<std::string> ids() const;
  // kNotFound (detail code = model_not_found) for an id that the folder has not.
  Result<> check(std::string_view id) const;

  Result<SentenceEmbedder*> embedder() override;
  Result<ChatModel*> chat() override;
  Result<Router*> router() override;
  // A model other than the two. One is in memory at a time.
  Result<ChatModel*> other(std::string_view id);

 private:
  std::filesystem::path file_of(std::string_view id) const;

  ModelHostOptions options_;
  std::unique_ptr<SentenceModel> embedder_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<LlamaChat> chat_;
  std::string other_id_;
  std::unique_ptr<LlamaChat> other_;
};

// One on two cores or fewer, else about half: ggml's threads wait in busy loops and get slower when they share a core.
int default_threads();

}  // namespace chela::infer
