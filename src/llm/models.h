#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/fields.h"
#include "llm/provider.h"

namespace chela::llm {

// What of a request a model reads: everything, or (one too small to profit from it) the conversation alone, which then has the whole
// context to itself.
enum class PromptStyle { kFull, kMinimal };

// How a model is offered tools: by its protocol, or in the prompt, to be called in text.
enum class ToolCalling { kNative, kPrompted };
std::string_view tool_calling_name(ToolCalling calling);  // "native", "prompted"
std::optional<ToolCalling> tool_calling_from_name(std::string_view name);

// US dollars for a million tokens.
struct Price {
  double input = 0;
  double output = 0;
  double cached_input = 0;  // that the provider's cache served
  double cache_write = 0;   // that it put into its cache
};

struct ModelInfo {
  std::string id;                      // exact, or with a '*' at the end for all ids that begin so
  std::string provider = {};           // "" when nothing is known of the model
  std::string sent_as = {};            // the provider's own name of it; "": the id
  bool family = false;                 // stands for ids that begin so, too; its price for dated ones alone
  std::int64_t context_tokens = 0;     // 0: not known
  std::int64_t max_output_tokens = 0;  // 0: not known
  PromptStyle prompt = PromptStyle::kFull;
  ToolCalling tools = ToolCalling::kNative;
  bool sees_images = false;
  bool reasons = false;         // thinks before it answers
  bool prefills = false;        // goes on with an answer that was begun for it
  std::int64_t dimensions = 0;  // of its vectors: it makes embeddings and is not talked to; 0: no
  std::optional<Price> price = std::nullopt;  // nothing: not known
  std::vector<std::string> files = {};        // what a local model needs under $CHELA_HOME/models

  bool is_pattern() const { return id.ends_with('*'); }
  std::string full_id() const { return provider + "/" + id; }
};

// US dollars.
double cost_of(const Usage& usage, const Price& price);

// What is known about models: share/models.toml and a person's own file. Immutable.
class Catalog {
 public:
  // From files with tables [models.PROVIDER] and a table [aliases], laid over each other. kInvalidArgument names file, model and key.
  static Result<Catalog> parse(const std::vector<DataFile>& files);

  // The entry that a name means: "provider/id", an id or an alias; an exact id before the longest that it begins with. What nobody
  // knows knows nothing but its id. The name is looked up without a provider that is not known.
  ModelInfo find(std::string_view name) const;

  // The entry of a provider's model by its id, or the name it is sent as; nullptr when there is none.
  const ModelInfo* of_provider(std::string_view provider, std::string_view id) const;
  // The providers that have an entry for the name: first those whose id it is, then others. Models of this machine are left out.
  std::vector<std::string> providers_of(std::string_view id) const;
  // What the alias stands for, "provider/id"; "" when it is none, or a model's id besides. Case does not matter.
  std::string aliased(std::string_view name) const;

  const std::vector<ModelInfo>& models() const { return models_; }  // patterns among them
  const std::map<std::string, std::string, std::less<>>& aliases() const { return aliases_; }

 private:
  Result<> read_models(const json::Value& sections, const std::vector<DataFile>& files);
  Result<> read_aliases(const json::Value& aliases, const std::vector<DataFile>& files);
  // Of one provider, or of all but the local one.
  const ModelInfo* lookup(const std::string_view* provider, std::string_view id) const;

  std::vector<ModelInfo> models_;
  std::vector<ModelInfo>
      variants_;  // of them, in their order: what a family says of ids that are not the same model at another date
  std::map<std::string, std::string, std::less<>> aliases_;  // in small letters, to "provider/id"
};

}  // namespace chela::llm
