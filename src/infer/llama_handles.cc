#include "infer/llama_handles.h"

#include <cstdio>
#include <filesystem>
#include <mutex>

namespace chela::infer {

namespace {

void print_errors(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

void print_nothing(ggml_log_level, const char*, void*) {}

}  // namespace

Result<ModelHandle> load_model(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return fail(Code::kNotFound, "there is no model file {}", path);
  static std::once_flag started;
  std::call_once(started, llama_backend_init);
  auto params = llama_model_default_params();
  params.n_gpu_layers = 0;
  // Why a file cannot be loaded stands only in libllama's log. Later that log calls every cancelled answer an error.
  llama_log_set(print_errors, nullptr);
  ModelHandle model(llama_model_load_from_file(path.c_str(), params));
  llama_log_set(print_nothing, nullptr);
  if (!model)
    return fail(Code::kUnprocessable, "{} cannot be loaded: it is no complete GGUF file of a known kind",
                path);
  return model;
}

std::vector<llama_token> tokens_of(const llama_vocab* vocab, std::string_view text, SpecialTokens special) {
  const bool parse = special == SpecialTokens::kParse;
  std::vector<llama_token> tokens(text.size() + 8);
  auto count = llama_tokenize(vocab, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                              static_cast<int32_t>(tokens.size()), true, parse);
  if (count < 0) {
    tokens.resize(static_cast<std::size_t>(-count));
    count = llama_tokenize(vocab, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                           static_cast<int32_t>(tokens.size()), true, parse);
  }
  tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
  return tokens;
}

}  // namespace chela::infer
