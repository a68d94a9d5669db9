// A chat model over libllama: the file's own template, KV prefix reuse, GBNF grammars.
#pragma once

#include <memory>

#include "infer/chat_model.h"

namespace chela::infer {

struct LlamaChatOptions {
  int threads = 1;
  std::size_t context_tokens = 0;  // at most; what the model was trained for is the other bound
  float temperature = 0.7F;        // when the request says none
  float repeat_penalty = 1.0F;
};

class LlamaChat final : public ChatModel {
 public:
  static Result<std::unique_ptr<LlamaChat>> create(const std::string& path, LlamaChatOptions options);
  ~LlamaChat() override;

  Result<std::size_t> prompt_tokens(std::span<const Turn> turns) const override;
  std::size_t context_tokens() const override;
  Result<Answer> generate(std::span<const Turn> turns, const Generation& generation, const TextSink& sink,
                          std::stop_token stop) override;

 private:
  struct Impl;
  explicit LlamaChat(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace chela::infer
