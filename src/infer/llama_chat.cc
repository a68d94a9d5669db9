#include "infer/llama_chat.h"

#include <algorithm>

#include "base/check.h"
#include "infer/limits.h"
#include "infer/llama_handles.h"
#include "infer/text_stream.h"

namespace chela::infer {
namespace {

constexpr int kRepeatWindow = 64;  // tokens that a repeat penalty looks back on
constexpr int kTopK = 40;
constexpr float kTopP = 0.9F;
constexpr std::size_t kLeastRoom = 16;  // tokens that must be left for an answer

Failure too_long(std::size_t tokens, std::size_t limit) {
  return Failure(Error{
      .code = Code::kInvalidArgument,
      .message =
          fmt::format("the prompt has {} tokens; this model holds {}. Shorten the messages", tokens, limit)}
                     .with("code", "context_length_exceeded")
                     .with("param", "messages"));
}

std::string piece_of(const llama_vocab* vocab, llama_token token) {
  std::string out(64, '\0');
  auto length = llama_token_to_piece(vocab, token, out.data(), static_cast<int32_t>(out.size()), 0, false);
  if (length < 0) {
    out.resize(static_cast<std::size_t>(-length));
    length = llama_token_to_piece(vocab, token, out.data(), static_cast<int32_t>(out.size()), 0, false);
  }
  out.resize(static_cast<std::size_t>(std::max(length, 0)));
  return out;
}

}  // namespace

struct LlamaChat::Impl {
  LlamaChatOptions options;
  ModelHandle model;
  ContextHandle context;
  const llama_vocab* vocab = nullptr;
  std::size_t limit = 0;
  std::vector<llama_token> past;  // what the KV cache holds
  std::stop_token stop;           // of the running generation; the abort callback reads it

  std::string without_marks(std::string_view text) const;
  Result<std::string> render(std::span<const Turn> turns) const;
  Result<std::vector<llama_token>> prompt(std::span<const Turn> turns) const;
  Result<> decode(llama_token* tokens, std::size_t count);
  Result<std::size_t> feed(const std::vector<llama_token>& tokens);
  Result<SamplerHandle> sampler(const Generation& generation) const;
};

// A person's text that spells control tokens ("<|im_end|>") must not open a turn of its own: a blank breaks them up.
std::string LlamaChat::Impl::without_marks(std::string_view text) const {
  if (tokens_of(vocab, text, SpecialTokens::kParse) == tokens_of(vocab, text, SpecialTokens::kAsText))
    return std::string(text);
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '<' || c == '[') out += ' ';
  }
  return out;
}

Result<std::string> LlamaChat::Impl::render(std::span<const Turn> turns) const {
  const char* form = llama_model_chat_template(model.get(), nullptr);
  if (form == nullptr)
    return fail(Code::kUnsupported, "this model's file has no chat template; use an instruction-tuned GGUF");
  std::vector<std::string> texts;
  texts.reserve(turns.size());
  for (const auto& turn : turns) texts.push_back(without_marks(turn.text));
  std::vector<llama_chat_message> messages;
  std::size_t bytes = 256;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    messages.push_back({role_name(turns[i].role).data(), texts[i].c_str()});
    bytes += texts[i].size() + 128;
  }
  std::string out(bytes, '\0');
  auto length = llama_chat_apply_template(form, messages.data(), messages.size(), true, out.data(),
                                          static_cast<int32_t>(out.size()));
  if (length > static_cast<int32_t>(out.size())) {
    out.resize(static_cast<std::size_t>(length));
    length = llama_chat_apply_template(form, messages.data(), messages.size(), true, out.data(),
                                       static_cast<int32_t>(out.size()));
  }
  if (length < 0)
    return fail(Code::kUnsupported,
                "this model's chat template is none that libllama knows; use another GGUF of the model");
  out.resize(static_cast<std::size_t>(length));
  return out;
}

Result<std::vector<llama_token>> LlamaChat::Impl::prompt(std::span<const Turn> turns) const {
  auto text = render(turns);
  if (!text) return fail(text.error());
  return tokens_of(vocab, *text, SpecialTokens::kParse);
}

Result<> LlamaChat::Impl::decode(llama_token* tokens, std::size_t count) {
  const int outcome = llama_decode(context.get(), llama_batch_get_one(tokens, static_cast<int32_t>(count)));
  if (outcome == 0) {
    past.insert(past.end(), tokens, tokens + count);
    return {};
  }
  // What an interrupted batch left in the cache is not known.
  llama_memory_clear(llama_get_memory(context.get()), true);
  past.clear();
  if (stop.stop_requested()) return fail(Code::kCancelled, "cancelled");
  return fail(Code::kInternal, "the model could not compute {} tokens (libllama says {})", count, outcome);
}

// Brings the cache to `tokens`; returns how many were in it already.
Result<std::size_t> LlamaChat::Impl::feed(const std::vector<llama_token>& tokens) {
  std::size_t keep = 0;
  while (keep < past.size() && keep < tokens.size() && past[keep] == tokens[keep]) ++keep;
  if (keep == tokens.size()) --keep;  // the logits after the last token are wanted
  auto* memory = llama_get_memory(context.get());
  if (!llama_memory_seq_rm(memory, 0, static_cast<llama_pos>(keep), -1)) {
    llama_memory_clear(memory, true);
    keep = 0;
  }
  past.resize(keep);
  std::vector<llama_token> rest(tokens.begin() + static_cast<std::ptrdiff_t>(keep), tokens.end());
  for (std::size_t at = 0; at < rest.size(); at += kPromptBatchTokens) {
    if (auto done = decode(rest.data() + at, std::min(kPromptBatchTokens, rest.size() - at)); !done)
      return fail(done.error());
  }
  return keep;
}

Result<SamplerHandle> LlamaChat::Impl::sampler(const Generation& generation) const {
  const auto& sampling = generation.sampling;
  SamplerHandle chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  if (!generation.grammar.empty()) {
    auto* grammar = llama_sampler_init_grammar(vocab, generation.grammar.c_str(), "root");
    if (grammar == nullptr) return fail(Code::kInternal, "a grammar was refused by libllama");
    llama_sampler_chain_add(chain.get(), grammar);
  }
  const auto frequency = static_cast<float>(sampling.frequency_penalty.value_or(0));
  const auto presence = static_cast<float>(sampling.presence_penalty.value_or(0));
  // Under a grammar words are copied, and a copy may repeat.
  const float repeat = generation.grammar.empty() ? options.repeat_penalty : 1.0F;
  if (repeat != 1.0F || frequency != 0 || presence != 0) {
    llama_sampler_chain_add(chain.get(),
                            llama_sampler_init_penalties(llama_vocab_n_tokens(vocab), kRepeatWindow, repeat,
                                                         frequency, presence));
  }
  const auto temperature = static_cast<float>(sampling.temperature.value_or(options.temperature));
  if (temperature <= 0) {
    llama_sampler_chain_add(chain.get(), llama_sampler_init_greedy());
    return chain;
  }
  llama_sampler_chain_add(chain.get(), llama_sampler_init_top_k(kTopK));
  llama_sampler_chain_add(chain.get(),
                          llama_sampler_init_top_p(static_cast<float>(sampling.top_p.value_or(kTopP)), 1));
  llama_sampler_chain_add(chain.get(), llama_sampler_init_temp(temperature));
  llama_sampler_chain_add(chain.get(), llama_sampler_init_dist(sampling.seed.value_or(LLAMA_DEFAULT_SEED)));
  return chain;
}

LlamaChat::LlamaChat(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LlamaChat::~LlamaChat() = default;

Result<std::unique_ptr<LlamaChat>> LlamaChat::create(const std::string& path, LlamaChatOptions options) {
  auto model = load_model(path);
  if (!model) return fail(model.error());
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->model = *std::move(model);
  impl->vocab = llama_model_get_vocab(impl->model.get());
  const auto trained = static_cast<std::size_t>(std::max(0, llama_model_n_ctx_train(impl->model.get())));
  auto params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(trained == 0 ? options.context_tokens
                                                         : std::min(options.context_tokens, trained));
  params.n_batch = kPromptBatchTokens;
  params.n_ubatch = kPromptBatchTokens;
  params.n_threads = options.threads;
  params.n_threads_batch = options.threads;
  params.no_perf = true;
  params.swa_full = true;  // sliding-window models keep all, or a prefix could not be used again
  params.abort_callback = [](void* state) { return static_cast<Impl*>(state)->stop.stop_requested(); };
  params.abort_callback_data = impl.get();
  impl->context.reset(llama_init_from_model(impl->model.get(), params));
  if (!impl->context)
    return fail(Code::kInternal, "no memory for a context of {} tokens of {}", params.n_ctx, path);
  impl->limit = llama_n_ctx(impl->context.get());
  return std::unique_ptr<LlamaChat>(new LlamaChat(std::move(impl)));
}

std::size_t LlamaChat::context_tokens() const { return impl_->limit; }

Result<std::size_t> LlamaChat::prompt_tokens(std::span<const Turn> turns) const {
  auto tokens = impl_->prompt(turns);
  if (!tokens) return fail(tokens.error());
  return tokens->size();
}

Result<Answer> LlamaChat::generate(std::span<const Turn> turns, const Generation& generation,
                                   const TextSink& sink, std::stop_token stop) {
  auto& impl = *impl_;
  auto tokens = impl.prompt(turns);
  if (!tokens) return fail(tokens.error());
  if (tokens->empty() || tokens->size() + kLeastRoom > impl.limit)
    return too_long(tokens->size(), impl.limit);
  auto sampler = impl.sampler(generation);
  if (!sampler) return fail(sampler.error());

  impl.stop = std::move(stop);
  auto cached = impl.feed(*tokens);
  if (!cached) return fail(cached.error());

  Answer answer{.usage = {.prompt_tokens = tokens->size(), .cached_tokens = *cached},
                .finish = Finish::kLength};
  TextStream stream(generation.sampling.stop);
  const auto show = [&](std::string text) {
    if (text.empty()) return;
    sink(text);
    answer.text += text;
  };
  const auto most =
      std::min(generation.sampling.max_tokens.value_or(kPlainAnswerTokens), impl.limit - tokens->size());
  while (answer.usage.completion_tokens < most) {
    if (impl.stop.stop_requested()) return fail(Code::kCancelled, "cancelled");
    llama_token token = llama_sampler_sample(sampler->get(), impl.context.get(), -1);
    ++answer.usage.completion_tokens;
    if (llama_vocab_is_eog(impl.vocab, token)) {
      answer.finish = Finish::kStop;
      break;
    }
    show(stream.push(piece_of(impl.vocab, token)));
    if (stream.stopped()) {
      answer.finish = Finish::kStop;
      break;
    }
    if (auto done = impl.decode(&token, 1); !done) return fail(done.error());
  }
  if (!stream.stopped()) show(stream.finish());
  impl.stop = {};
  return answer;
}

}  // namespace chela::infer
