#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "llm/fields.h"

namespace chela::llm {

// How a provider is spoken to. Each has an adapter, made by backends/make_provider.cc.
enum class Protocol { kOpenAiChat, kOpenAiResponses, kAnthropic, kGemini, kOllama, kBedrock, kNearAi };
std::string_view protocol_name(Protocol protocol);
std::optional<Protocol> protocol_from_name(std::string_view name);

// Whether calls need a key.
enum class KeyNeed { kRequired, kOptional };

// The alphabet of tool names that a provider takes: everything that Chela allows, or only [a-zA-Z0-9_-]{1,64}.
enum class ToolNames { kAny, kPlain };

// The ids of calls that a provider takes: any text, [a-zA-Z0-9_-]{1,40}, or exactly nine letters and digits.
enum class CallIds { kAny, kPlain, kNine };

// What a provider does otherwise than its protocol has it.
struct Quirks {
  std::vector<std::string> unsupported_params = {};  // by OpenAI's names; never sent
  bool strict_schemas = false;                       // every property of a tool required, no others allowed
  ToolNames tool_names = ToolNames::kAny;
  CallIds call_ids = CallIds::kAny;
  bool alternate_roles = false;  // neighbours of one role are made one message
  // Beginnings of the ids of models that think before they answer, and what those refuse besides.
  std::vector<std::string> thinking_models = {};
  std::vector<std::string> thinking_unsupported_params = {};
  // Of openai_chat: parameters by their names in the protocol and by what the provider calls them.
  std::vector<std::pair<std::string, std::string>> renamed_params = {};
  bool stream_options = true;  // of openai_chat: takes the wish for usage in a stream
  bool wants_reasoning =
      false;             // of openai_chat: what was thought before calls has to be sent back with them
  bool prefill = false;  // goes on from a last message of the assistant
};

// One provider of models: an entry of share/providers.toml or of a person's own file.
struct ProviderEntry {
  std::string id;  // [a-z0-9_-]+, the word before the slash in "groq/llama-3.3-70b"
  std::string name;
  std::vector<std::string> aliases = {};
  Protocol protocol = Protocol::kOpenAiChat;
  std::string base_url = {};
  std::vector<std::string> base_url_env = {};  // variables that name another address
  KeyNeed key = KeyNeed::kRequired;
  std::vector<std::string> key_env =
      {};  // variables that hold the key; in the vault it has such a name in small letters
  std::string key_header = {};  // that carries the bare key; "": "Authorization: Bearer"
  std::string default_model = {};
  std::vector<std::string> model_env = {};                        // variables that name another one
  std::vector<std::pair<std::string, std::string>> headers = {};  // sent with every request
  bool aggregator = false;  // passes on to others: its models have names such as "vendor/model"
  Quirks quirks = {};
};

// The providers that there are. Immutable.
class Providers {
 public:
  Providers() = default;

  // From files with a table [providers.ID] each, laid over each other. kInvalidArgument names file, provider and key.
  static Result<Providers> parse(const std::vector<DataFile>& files);

  // By id or alias; nullptr when there is none.
  const ProviderEntry* find(std::string_view name) const;
  const std::vector<ProviderEntry>& all() const { return entries_; }

 private:
  std::vector<ProviderEntry> entries_;  // by id
};

}  // namespace chela::llm
