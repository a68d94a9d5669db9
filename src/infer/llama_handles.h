// Owners of libllama's objects, and the few calls of it that more than one source needs.
#pragma once

#include <llama.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela::infer {

struct ModelFree {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
struct ContextFree {
  void operator()(llama_context* context) const { llama_free(context); }
};
struct SamplerFree {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using ModelHandle = std::unique_ptr<llama_model, ModelFree>;
using ContextHandle = std::unique_ptr<llama_context, ContextFree>;
using SamplerHandle = std::unique_ptr<llama_sampler, SamplerFree>;

// Starts libllama's backend the first time. Inference thread only. Errors: kNotFound when the file does not exist, kUnprocessable when libllama refuses it.
Result<ModelHandle> load_model(const std::string& path);

enum class SpecialTokens { kAsText, kParse };
std::vector<llama_token> tokens_of(const llama_vocab* vocab, std::string_view text, SpecialTokens special);

}  // namespace chela::infer
