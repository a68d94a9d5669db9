#include "infer/model_host.h"

#include <algorithm>
#include <thread>

#include "infer/limits.h"

namespace chela::infer {
namespace {

constexpr std::string_view kPrefix = "local/";
constexpr std::string_view kExtension = ".gguf";
constexpr float kSmallTemperature = 0.2F;    // measured best for the 135M model
constexpr float kSmallRepeatPenalty = 1.1F;  // it loops without

Failure not_installed(std::string_view id, const std::filesystem::path& file) {
  return fail(Code::kUnavailable, "{} is not installed: there is no {}. Next step: chela models pull {}", id,
              file.string(), kSmallId);
}

bool is_file(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

}  // namespace

int default_threads() {
  const auto cores = std::thread::hardware_concurrency();
  return cores <= 2 ? 1 : static_cast<int>(cores / 2);
}

ModelHost::ModelHost(ModelHostOptions options) : options_(std::move(options)) {}

std::vector<std::string> ModelHost::ids() const {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(options_.models, error), end; !error && it != end;
       it.increment(error)) {
    const auto name = it->path().filename().string();
    if (!name.ends_with(kExtension) || !is_file(it->path())) continue;
    if (name == kSmallFile) {
      out.emplace_back(kSmallId);
    } else if (name == kEmbedderFile) {
      out.emplace_back(kEmbedderId);
    } else {
      out.push_back(std::string(kPrefix) + name.substr(0, name.size() - kExtension.size()));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::filesystem::path ModelHost::file_of(std::string_view id) const {
  if (id == kSmallId) return options_.models / kSmallFile;
  if (id == kEmbedderId) return options_.models / kEmbedderFile;
  return options_.models / (std::string(id.substr(kPrefix.size())) + std::string(kExtension));
}

Result<> ModelHost::check(std::string_view id) const {
  // Ids come from outside: only those that the folder's listing gives are turned into a path.
  const auto known = ids();
  if (std::find(known.begin(), known.end(), id) != known.end()) return {};
  // The two of the recipe say what to do about it.
  if (id == kSmallId || id == kEmbedderId) return not_installed(id, file_of(id));
  return Failure(
      Error{.code = Code::kNotFound,
            .message = fmt::format("there is no model \"{}\"; GET /v1/models lists those that there are", id)}
          .with("code", "model_not_found")
          .with("param", "model"));
}

Result<SentenceEmbedder*> ModelHost::embedder() {
  if (!embedder_) {
    const auto file = file_of(kEmbedderId);
    if (!is_file(file)) return not_installed(kEmbedderId, file);
    auto loaded = SentenceModel::create(file.string(), options_.threads);
    if (!loaded) return fail(loaded.error());
    embedder_ = *std::move(loaded);
  }
  return embedder_.get();
}

Result<Router*> ModelHost::router() {
  if (!router_) {
    auto model = embedder();
    if (!model) return fail(model.error());
    auto examples = parse_examples(builtin_examples());
    if (!examples) return fail(examples.error());
    auto created = Router::create(**model, *std::move(examples), options_.models / ".cache");
    if (!created) return fail(created.error());
    router_ = *std::move(created);
  }
  return router_.get();
}

Result<ChatModel*> ModelHost::chat() {
  if (!chat_) {
    const auto file = file_of(kSmallId);
    if (!is_file(file)) return not_installed(kSmallId, file);
    auto loaded = LlamaChat::create(file.string(), {.threads = options_.threads,
                                                    .context_tokens = kSmallContextTokens,
                                                    .temperature = kSmallTemperature,
                                                    .repeat_penalty = kSmallRepeatPenalty});
    if (!loaded) return fail(loaded.error());
    chat_ = *std::move(loaded);
  }
  return chat_.get();
}

Result<ChatModel*> ModelHost::other(std::string_view id) {
  if (other_ && other_id_ == id) return other_.get();
  if (auto known = check(id); !known) return fail(known.error());
  other_.reset();  // before the next one takes its memory
  auto loaded = LlamaChat::create(file_of(id).string(),
                                  {.threads = options_.threads, .context_tokens = kPlainContextTokens});
  if (!loaded) return fail(loaded.error());
  other_ = *std::move(loaded);
  other_id_ = id;
  return other_.get();
}

}  // namespace chela::infer
