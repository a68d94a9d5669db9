#include "llm/models.h"

#include "base/json.h"

namespace chela::llm {
namespace {

Result<ModelInfo> read_entry(const json::Value& entry, size_t number) {
  ModelInfo info{.id = entry.string_or("id"), .context_tokens = entry.int_or("context_tokens", 0)};
  if (info.id.empty()) return fail(Code::kInvalidArgument, "model catalog: entry {} has no id", number);
  const std::string prompt = entry.string_or("prompt", "full");
  if (prompt != "full" && prompt != "minimal") {
    return fail(Code::kInvalidArgument, "model catalog: '{}' has the prompt '{}'; use full or minimal",
                info.id, prompt);
  }
  if (info.context_tokens < 0) {
    return fail(Code::kInvalidArgument, "model catalog: '{}' has context_tokens {}", info.id,
                info.context_tokens);
  }
  info.prompt = prompt == "minimal" ? PromptStyle::kMinimal : PromptStyle::kFull;
  const json::Value* files = entry.find("files");
  if (files == nullptr) return info;
  if (!files->is_array())
    return fail(Code::kInvalidArgument, "model catalog: 'files' of '{}' is no array", info.id);
  for (const json::Value& file : *files->as_array()) {
    if (!file.is_string())
      return fail(Code::kInvalidArgument, "model catalog: a file of '{}' is no text", info.id);
    info.files.push_back(*file.as_string());
  }
  return info;
}

}  // namespace

Result<Catalog> Catalog::parse(std::string_view json_text) {
  const Result<json::Value> root = json::parse(json_text);
  if (!root) return fail(Code::kInvalidArgument, "model catalog: {}", root.error().message);
  const json::Value* models = root->find("models");
  if (models == nullptr || !models->is_array())
    return fail(Code::kInvalidArgument, "model catalog: no array 'models'");
  Catalog catalog;
  for (const json::Value& entry : *models->as_array()) {
    Result<ModelInfo> info = read_entry(entry, catalog.models_.size() + 1);
    if (!info) return fail(std::move(info.error()));
    catalog.models_.push_back(std::move(*info));
  }
  return catalog;
}

const ModelInfo* Catalog::lookup(std::string_view id) const {
  const ModelInfo* best = nullptr;
  for (const ModelInfo& model : models_) {
    if (model.id == id) return &model;
    if (!model.id.ends_with('*')) continue;
    const std::string_view start = std::string_view(model.id).substr(0, model.id.size() - 1);
    if (id.starts_with(start) && (best == nullptr || best->id.size() < model.id.size())) best = &model;
  }
  return best;
}

ModelInfo Catalog::find(std::string_view id) const {
  const ModelInfo* known = lookup(id);
  if (known == nullptr) {
    const size_t slash = id.rfind('/');
    if (slash != std::string_view::npos) known = lookup(id.substr(slash + 1));
  }
  ModelInfo info = known != nullptr ? *known : ModelInfo{};
  info.id = std::string(id);
  return info;
}

}  // namespace chela::llm
