#include "llm/providers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/strings.h"

namespace chela::llm {
namespace {

constexpr std::array<std::pair<Protocol, std::string_view>, 7> kProtocols{
    {{Protocol::kOpenAiChat, "openai_chat"},
     {Protocol::kOpenAiResponses, "openai_responses"},
     {Protocol::kAnthropic, "anthropic"},
     {Protocol::kGemini, "gemini"},
     {Protocol::kOllama, "ollama"},
     {Protocol::kBedrock, "bedrock"},
     {Protocol::kNearAi, "nearai"}}};

// What unsupported_params may name: the fields of Sampling.
constexpr std::array<std::string_view, 10> kParams{
    "temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens",
    "seed",        "stop",  "response_format",  "reasoning_effort",  "parallel_tool_calls"};

bool is_id(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_variable(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_header(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n:") == std::string_view::npos;
}

// A choice of two or more words.
template <class T, size_t N>
void choose(Fields& fields, std::string_view key, const std::array<std::pair<T, std::string_view>, N>& words,
            T& out) {
  std::string word;
  fields.read(key, word);
  if (word.empty()) return;
  std::vector<std::string> known;
  for (const auto& [value, name] : words) {
    if (name == word) {
      out = value;
      return;
    }
    known.emplace_back(name);
  }
  fields.fail_with(fmt::format("'{}' is '{}'; use {}", key, word, strings::join(known, ", ")));
}

void check(Fields& fields, const ProviderEntry& entry) {
  if (!is_id(entry.id)) fields.fail_with("an id has small letters, digits, '_' and '-' only");
  if (entry.base_url.empty()) fields.fail_with("'base_url' is missing");
  if (!entry.base_url.empty() && !entry.base_url.starts_with("http://") &&
      !entry.base_url.starts_with("https://"))
    fields.fail_with("'base_url' must begin with http:// or https://");
  for (const auto* names : {&entry.base_url_env, &entry.key_env, &entry.model_env}) {
    for (const std::string& each : *names) {
      if (!is_variable(each)) fields.fail_with(fmt::format("'{}' is no name of a variable", each));
    }
  }
  if (entry.key == KeyNeed::kRequired && entry.key_env.empty())
    fields.fail_with("'key_env' is missing; say key = \"optional\" if it needs none");
  if (!entry.key_header.empty() && !is_header(entry.key_header))
    fields.fail_with("'key_header' is no name of a header");
  for (const auto& [name, value] : entry.headers) {
    if (!is_header(name) || value.find_first_of("\r\n") != std::string::npos)
      fields.fail_with(fmt::format("'headers' has '{}', which is no header", name));
  }
  const auto known = [&fields](std::string_view key, std::string_view param) {
    if (std::ranges::find(kParams, param) == kParams.end())
      fields.fail_with(fmt::format("'{}' has '{}', which is never sent", key, param));
  };
  const Quirks& quirks = entry.quirks;
  for (const std::string& each : quirks.unsupported_params) known("unsupported_params", each);
  for (const std::string& each : quirks.thinking_unsupported_params)
    known("thinking_unsupported_params", each);
  for (const auto& [name, other] : quirks.renamed_params) {
    known("renamed_params", name);
    if (other.empty()) fields.fail_with(fmt::format("'renamed_params' has no other name of '{}'", name));
  }
  if (std::ranges::find(quirks.thinking_models, "") != quirks.thinking_models.end())
    fields.fail_with("'thinking_models' has an empty name");
  const bool of_chat = !quirks.renamed_params.empty() || !quirks.stream_options || quirks.wants_reasoning;
  if (of_chat && entry.protocol != Protocol::kOpenAiChat)
    fields.fail_with("'renamed_params', 'stream_options' and 'wants_reasoning' are for openai_chat only");
}

Result<ProviderEntry> read_entry(const std::string& id, const json::Value& value, std::string_view path) {
  if (!value.is_object()) return fail(Code::kInvalidArgument, "{}: provider '{}' is no table", path, id);
  Fields fields(*value.as_object(), fmt::format("{}: provider '{}'", path, id));
  ProviderEntry entry{.id = id, .name = id};
  fields.read("name", entry.name);
  fields.read("aliases", entry.aliases);
  choose(fields, "protocol", kProtocols, entry.protocol);
  fields.read("base_url", entry.base_url);
  fields.read("base_url_env", entry.base_url_env);
  choose(fields, "key",
         std::array{std::pair{KeyNeed::kRequired, std::string_view("required")},
                    std::pair{KeyNeed::kOptional, std::string_view("optional")}},
         entry.key);
  fields.read("key_env", entry.key_env);
  fields.read("key_header", entry.key_header);
  fields.read("default_model", entry.default_model);
  fields.read("model_env", entry.model_env);
  fields.read("headers", entry.headers);
  fields.read("aggregator", entry.aggregator);
  fields.read("unsupported_params", entry.quirks.unsupported_params);
  fields.read("strict_schemas", entry.quirks.strict_schemas);
  fields.read("alternate_roles", entry.quirks.alternate_roles);
  fields.read("prefill", entry.quirks.prefill);
  choose(fields, "tool_names",
         std::array{std::pair{ToolNames::kAny, std::string_view("any")},
                    std::pair{ToolNames::kPlain, std::string_view("plain")}},
         entry.quirks.tool_names);
  choose(fields, "call_ids",
         std::array{std::pair{CallIds::kAny, std::string_view("any")},
                    std::pair{CallIds::kPlain, std::string_view("plain")},
                    std::pair{CallIds::kNine, std::string_view("nine")}},
         entry.quirks.call_ids);
  fields.read("thinking_models", entry.quirks.thinking_models);
  fields.read("thinking_unsupported_params", entry.quirks.thinking_unsupported_params);
  fields.read("renamed_params", entry.quirks.renamed_params);
  fields.read("stream_options", entry.quirks.stream_options);
  fields.read("wants_reasoning", entry.quirks.wants_reasoning);
  check(fields, entry);
  if (Result<> good = fields.finish(); !good) return fail(std::move(good.error()));
  return entry;
}

}  // namespace

std::string_view protocol_name(Protocol protocol) {
  for (const auto& [known, name] : kProtocols) {
    if (known == protocol) return name;
  }
  return "";
}

std::optional<Protocol> protocol_from_name(std::string_view name) {
  for (const auto& [protocol, known] : kProtocols) {
    if (known == name) return protocol;
  }
  return std::nullopt;
}

Result<Providers> Providers::parse(const std::vector<DataFile>& files) {
  const json::Value all = overlaid(files);
  Providers out;
  for (const json::Member& section : *all.as_object()) {
    if (section.key != "providers" || !section.value.is_object())
      return fail(Code::kInvalidArgument, "{}: '{}' is not read; use tables [providers.ID]",
                  origin_of(files, section.key, ""), section.key);
    for (const json::Member& each : *section.value.as_object()) {
      Result<ProviderEntry> entry = read_entry(each.key, each.value, origin_of(files, "providers", each.key));
      if (!entry) return fail(std::move(entry.error()));
      out.entries_.push_back(std::move(*entry));
    }
  }
  std::map<std::string_view, std::string_view> names;  // to the id that has it
  for (const ProviderEntry& entry : out.entries_) {
    std::vector<std::string_view> own(entry.aliases.begin(), entry.aliases.end());
    own.push_back(entry.id);
    for (const std::string_view name : own) {
      const auto [at, added] = names.emplace(name, entry.id);
      if (!added)
        return fail(Code::kInvalidArgument, "{}: provider '{}': the name '{}' is taken by '{}'",
                    origin_of(files, "providers", entry.id), entry.id, name, at->second);
    }
  }
  return out;
}

const ProviderEntry* Providers::find(std::string_view name) const {
  for (const ProviderEntry& entry : entries_) {
    if (entry.id == name || std::ranges::find(entry.aliases, name) != entry.aliases.end()) return &entry;
  }
  return nullptr;
}

}  // namespace chela::llm
