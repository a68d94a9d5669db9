#include "llm/models.h"

#include "base/json.h"

namespace chela::llm {
namespace {

// A price that is not below zero; 0 when it is left out.
Result<double> read_price(const json::Value& price, std::string_view key, const std::string& id) {
  const json::Value* value = price.find(key);
  if (value == nullptr) return 0.0;
  const std::optional<double> number = value->as_double();
  if (!number || *number < 0)
    return fail(Code::kInvalidArgument, "model catalog: the price '{}' of '{}' is no number from 0 on", key,
                id);
  return *number;
}

// Without a price of its own, what the cache served counts as if it had not: a cost is never told too low.
Result<std::optional<Price>> read_prices(const json::Value& entry, const std::string& id) {
  const json::Value* price = entry.find("price");
  if (price == nullptr) return std::optional<Price>();
  if (!price->is_object())
    return fail(Code::kInvalidArgument, "model catalog: the price of '{}' is no object", id);
  const Result<double> input = read_price(*price, "input", id);
  const Result<double> output = read_price(*price, "output", id);
  const Result<double> cached = read_price(*price, "cached_input", id);
  for (const Result<double>* each : {&input, &output, &cached}) {
    if (!*each) return fail(each->error());
  }
  return Price{.input = *input,
               .output = *output,
               .cached_input = price->find("cached_input") != nullptr ? *cached : *input};
}

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
  const std::string tools = entry.string_or("tools", "native");
  const std::optional<ToolCalling> calling = tool_calling_from_name(tools);
  if (!calling) {
    return fail(Code::kInvalidArgument, "model catalog: '{}' has the tools '{}'; use native or prompted",
                info.id, tools);
  }
  info.tools = *calling;
  info.sees_images = entry.bool_or("images", false);
  Result<std::optional<Price>> price = read_prices(entry, info.id);
  if (!price) return fail(std::move(price.error()));
  info.price = *price;
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

std::string_view tool_calling_name(ToolCalling calling) {
  return calling == ToolCalling::kPrompted ? "prompted" : "native";
}

std::optional<ToolCalling> tool_calling_from_name(std::string_view name) {
  if (name == "native") return ToolCalling::kNative;
  if (name == "prompted") return ToolCalling::kPrompted;
  return std::nullopt;
}

double cost_of(const Usage& usage, const Price& price) {
  constexpr double kMillion = 1e6;
  const auto fresh = static_cast<double>(usage.input_tokens - usage.cached_tokens);
  return (fresh * price.input + static_cast<double>(usage.cached_tokens) * price.cached_input +
          static_cast<double>(usage.output_tokens) * price.output) /
         kMillion;
}

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
