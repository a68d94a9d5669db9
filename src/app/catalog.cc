#include "app/catalog.h"

#include <array>

#include "app/paths.h"
#include "base/limits.h"
#include "config/toml_value.h"
#include "os/file.h"

namespace chela::app {
namespace {

// Of protocols whose keys are more than one text.
constexpr std::array<std::string_view, 4> kOtherSecrets{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                                        "AWS_SESSION_TOKEN", "NEARAI_SESSION_TOKEN"};

enum class Missing { kFails, kIsNothing };

Result<> add_file(std::vector<llm::DataFile>& files, const std::string& path, Missing missing) {
  const Result<std::string> text = os::read_file(path, kMaxConfigBytes);
  if (!text && text.error().code == Code::kNotFound && missing == Missing::kIsNothing) return {};
  if (!text) return fail(text.error());
  Result<json::Value> root = config::parse_toml_value(*text, path);
  if (!root) return fail(std::move(root.error()));
  files.push_back({.path = path, .root = std::move(*root)});
  return {};
}

// Ours, then the person's.
Result<std::vector<llm::DataFile>> read_files(const std::string& share, const std::string& home,
                                              const std::string& name) {
  std::vector<llm::DataFile> files;
  if (Result<> added = add_file(files, share + "/" + name, Missing::kFails); !added)
    return fail(added.error());
  if (Result<> added = add_file(files, home + "/" + name, Missing::kIsNothing); !added)
    return fail(added.error());
  return files;
}

}  // namespace

Result<llm::ModelData> read_model_data(const std::string& share, const std::string& home) {
  const Result<std::vector<llm::DataFile>> models = read_files(share, home, "models.toml");
  if (!models) return fail(models.error());
  const Result<std::vector<llm::DataFile>> providers = read_files(share, home, "providers.toml");
  if (!providers) return fail(providers.error());
  Result<llm::Catalog> catalog = llm::Catalog::parse(*models);
  if (!catalog) return fail(std::move(catalog.error()));
  Result<llm::Providers> known = llm::Providers::parse(*providers);
  if (!known) return fail(std::move(known.error()));
  return llm::ModelData{.catalog = std::move(*catalog), .providers = std::move(*known)};
}

Result<llm::ModelData> find_model_data(const std::map<std::string, std::string>& environment,
                                       const std::string& home) {
  const Result<std::string> share = share_folder(environment);
  if (!share) return fail(share.error());
  return read_model_data(*share, home);
}

bool answers_here(const llm::ModelData& data, std::string_view model) {
  const llm::Route to = llm::route(model, data.catalog, data.providers, {.id = "local"},
                                   [](const llm::ProviderEntry&) { return true; });
  return to.to != llm::Route::To::kProvider;
}

std::vector<std::string> key_variables(const std::map<std::string, std::string>& environment,
                                       const std::string& home) {
  std::vector<std::string> names(kOtherSecrets.begin(), kOtherSecrets.end());
  const Result<std::string> share = share_folder(environment);
  if (!share) return names;
  const Result<std::vector<llm::DataFile>> files = read_files(*share, home, "providers.toml");
  const Result<llm::Providers> providers =
      files ? llm::Providers::parse(*files) : Result<llm::Providers>(fail(files.error()));
  if (!providers) return names;
  for (const llm::ProviderEntry& each : providers->all())
    names.insert(names.end(), each.key_env.begin(), each.key_env.end());
  return names;
}

}  // namespace chela::app
