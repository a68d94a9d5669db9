#include "llm/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/strings.h"

namespace chela::llm {
namespace {

constexpr std::string_view kLocal = "local";
constexpr size_t kExact = std::numeric_limits<size_t>::max();  // longer than any beginning

// Without a price of its own, what the cache served counts as if it had not: a cost is never told too low.
std::optional<Price> read_price(Fields& fields, const std::string& where) {
  const json::Object* table = fields.table("price");
  if (table == nullptr) return std::nullopt;
  Fields price(*table, where);
  std::optional<double> input;
  std::optional<double> output;
  std::optional<double> cached;
  std::optional<double> written;
  price.read("input", input);
  price.read("output", output);
  price.read("cached_input", cached);
  price.read("cache_write", written);
  if (Result<> good = price.finish(); !good)
    fields.fail_with(good.error().message.substr(std::min(where.size() + 2, good.error().message.size())));
  // One without the other would be a call that costs nothing for half of what it is.
  if (!input || !output) {
    fields.fail_with("'price' needs both input and output");
    return std::nullopt;
  }
  return Price{.input = *input,
               .output = *output,
               .cached_input = cached.value_or(*input),
               .cache_write = written.value_or(*input)};
}

void read_flags(Fields& fields, ModelInfo& info) {
  std::vector<std::string> flags;
  fields.read("flags", flags);
  for (const std::string& each : flags) {
    if (each == "vision") {
      info.sees_images = true;
    } else if (each == "reasoning") {
      info.reasons = true;
    } else if (each == "prefill") {
      info.prefills = true;
    } else {
      fields.fail_with(fmt::format("'flags' has '{}'; there are vision, reasoning and prefill", each));
    }
  }
}

Result<ModelInfo> read_entry(const std::string& provider, const std::string& id, const json::Value& value,
                             std::string_view path) {
  const std::string where = fmt::format("{}: model '{}/{}'", path, provider, id);
  if (!value.is_object()) return fail(Code::kInvalidArgument, "{} is no table", where);
  Fields fields(*value.as_object(), where);
  ModelInfo info{.id = id, .provider = provider};
  std::string prompt = "full";
  std::string tools = "native";
  fields.read("sent_as", info.sent_as);
  fields.read("family", info.family);
  fields.read("context", info.context_tokens);
  fields.read("max_output", info.max_output_tokens);
  fields.read("prompt", prompt);
  fields.read("tools", tools);
  fields.read("files", info.files);
  fields.read("dimensions", info.dimensions);
  read_flags(fields, info);
  info.price = read_price(fields, where);
  if (prompt != "full" && prompt != "minimal")
    fields.fail_with(fmt::format("'prompt' is '{}'; use full or minimal", prompt));
  info.prompt = prompt == "minimal" ? PromptStyle::kMinimal : PromptStyle::kFull;
  const std::optional<ToolCalling> calling = tool_calling_from_name(tools);
  if (!calling) fields.fail_with(fmt::format("'tools' is '{}'; use native or prompted", tools));
  info.tools = calling.value_or(ToolCalling::kNative);
  if (id.empty() || id == "*") fields.fail_with("an id has at least one letter");
  if (info.is_pattern() && !info.sent_as.empty()) fields.fail_with("'sent_as' is for one model only");
  if (Result<> good = fields.finish(); !good) return fail(std::move(good.error()));
  return info;
}

// Whether an id that begins as a family's names the same model at another date: "-2024-08-06", "-20250514", "-0125", "-001", "-latest".
// Others ("-pro", "-audio-preview") may cost many times as much.
bool is_dated(std::string_view rest) {
  if (rest == "-latest") return true;
  if (rest.size() < 4 || rest[0] != '-') return false;
  return rest.find_first_not_of("0123456789-") == std::string_view::npos;
}

// The file that says something of one model: the entry is below its provider.
std::string_view origin_of_model(const std::vector<DataFile>& files, std::string_view provider,
                                 std::string_view id) {
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const json::Value* models = file->root.find("models");
    const json::Value* section = models != nullptr ? models->find(provider) : nullptr;
    if (section != nullptr && section->find(id) != nullptr) return file->path;
  }
  return origin_of(files, "models", provider);
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

Result<Catalog> Catalog::parse(const std::vector<DataFile>& files) {
  const json::Value all = overlaid(files);
  Catalog catalog;
  for (const json::Member& section : *all.as_object()) {
    const bool known = section.key == "models" || section.key == "aliases";
    if (!known || !section.value.is_object())
      return fail(Code::kInvalidArgument,
                  "{}: '{}' is not read; use tables [models.PROVIDER] and a table [aliases]",
                  origin_of(files, section.key, ""), section.key);
    Result<> read = section.key == "models" ? catalog.read_models(section.value, files)
                                            : catalog.read_aliases(section.value, files);
    if (!read) return fail(std::move(read.error()));
  }
  catalog.variants_ = catalog.models_;
  for (ModelInfo& each : catalog.variants_) each.price.reset();
  return catalog;
}

Result<> Catalog::read_models(const json::Value& sections, const std::vector<DataFile>& files) {
  for (const json::Member& section : *sections.as_object()) {
    if (!section.value.is_object())
      return fail(Code::kInvalidArgument, "{}: models.{} is no table of models",
                  origin_of(files, "models", section.key), section.key);
    for (const json::Member& each : *section.value.as_object()) {
      Result<ModelInfo> info =
          read_entry(section.key, each.key, each.value, origin_of_model(files, section.key, each.key));
      if (!info) return fail(std::move(info.error()));
      models_.push_back(std::move(*info));
    }
  }
  return {};
}

Result<> Catalog::read_aliases(const json::Value& aliases, const std::vector<DataFile>& files) {
  for (const json::Member& each : *aliases.as_object()) {
    const std::string* target = each.value.as_string();
    if (target == nullptr || target->find('/') == std::string::npos || each.key.contains('/'))
      return fail(Code::kInvalidArgument, "{}: alias '{}' must be without '/' and stand for \"PROVIDER/ID\"",
                  origin_of(files, "aliases", each.key), each.key);
    aliases_[strings::lower(each.key)] = *target;
  }
  return {};
}

const ModelInfo* Catalog::lookup(const std::string_view* provider, std::string_view id) const {
  const ModelInfo* best = nullptr;
  size_t length = 0;  // of the beginning that fits
  for (size_t i = 0; i < models_.size(); ++i) {
    const ModelInfo& model = models_[i];
    if (provider != nullptr ? model.provider != *provider : model.provider == kLocal) continue;
    if (model.id == id) return &model;
    if (!model.sent_as.empty() && model.sent_as == id && length < kExact) {
      best = &model;
      length = kExact;
    }
    if (!model.is_pattern() && !model.family) continue;
    const std::string_view start = model.is_pattern()
                                       ? std::string_view(model.id).substr(0, model.id.size() - 1)
                                       : std::string_view(model.id);
    if (id.starts_with(start) && (best == nullptr || length < start.size())) {
      const bool priced = model.is_pattern() || is_dated(id.substr(start.size()));
      best = priced ? &model : &variants_[i];
      length = start.size();
    }
  }
  return best;
}

const ModelInfo* Catalog::of_provider(std::string_view provider, std::string_view id) const {
  return lookup(&provider, id);
}

std::vector<std::string> Catalog::providers_of(std::string_view id) const {
  std::vector<std::string> exact;
  std::vector<std::string> others;
  for (const ModelInfo& model : models_) {
    if (model.provider == kLocal) continue;
    std::vector<std::string>& found = model.id == id ? exact : others;
    if (std::ranges::find(found, model.provider) == found.end() && of_provider(model.provider, id) != nullptr)
      found.push_back(model.provider);
  }
  for (const std::string& each : others) {
    if (std::ranges::find(exact, each) == exact.end()) exact.push_back(each);
  }
  return exact;
}

std::string Catalog::aliased(std::string_view name) const {
  // A model of that very id is meant by it, not the one that an alias of the same name stands for.
  const bool is_id = std::ranges::any_of(
      models_, [name](const ModelInfo& model) { return model.provider != kLocal && model.id == name; });
  if (is_id) return {};
  const auto found = aliases_.find(strings::lower(name));
  return found != aliases_.end() ? found->second : std::string();
}

ModelInfo Catalog::find(std::string_view name) const {
  const std::string target = aliased(name);
  const std::string_view id = target.empty() ? name : std::string_view(target);
  const size_t first = id.find('/');
  const ModelInfo* known = nullptr;
  if (first != std::string_view::npos) known = of_provider(id.substr(0, first), id.substr(first + 1));
  if (known == nullptr) known = lookup(nullptr, id);
  if (known == nullptr && first != std::string_view::npos)
    known = lookup(nullptr, id.substr(id.rfind('/') + 1));
  ModelInfo info = known != nullptr ? *known : ModelInfo{};
  info.id = std::string(name);
  return info;
}

}  // namespace chela::llm
