#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/make_engine.h"
#include "hooks/hooks.h"
#include "obs/metrics.h"
#include "runtime/event_loop.h"
#include "security/vault.h"
#include "store/sqlite/database.h"
#include "tools/registry.h"
#include "tools/runner.h"

namespace chela::testing {

// What an agent knows of its user: always the same.
class FixedKnowledge final : public agent::Knowledge {
 public:
  std::vector<std::pair<std::string, std::string>> documents = {};  // title and text
  std::vector<std::string> lines = {};                              // recalled with every message
  size_t recall_limit = 0;                                          // that was last asked for

  Task<std::vector<std::pair<std::string, std::string>>> identity(Scope) override { co_return documents; }
  Task<std::vector<std::string>> recall(Scope, std::string, size_t limit) override {
    recall_limit = limit;
    co_return lines;
  }
};

// Keeps the files of messages in memory.
class KeptUploads final : public agent::Uploads {
 public:
  std::map<std::string, std::string> files;  // by path
  std::optional<Error> refuse;               // what save() answers instead

  Task<Result<>> save(Scope, std::string path, std::string bytes) override {
    if (refuse) co_return fail(*refuse);
    files[std::move(path)] = std::move(bytes);
    co_return Result<>{};
  }
};

// Secrets in memory, readable by tests.
class OpenVault final : public security::Vault {
 public:
  std::map<std::string, std::string> values;  // by user and name: "u1/github"
  Task<Result<std::vector<security::SecretInfo>>> list(Scope) override {
    co_return std::vector<security::SecretInfo>();
  }
  Task<Result<crypto::Secret>> get(Scope scope, std::string name) override {
    const auto found = values.find(scope.user + "/" + name);
    if (found == values.end()) co_return fail(Code::kNotFound, "no secret {}", name);
    co_return crypto::Secret(found->second);
  }
  Task<Result<>> set(Scope scope, std::string name, crypto::Secret value) override {
    values[scope.user + "/" + name] = std::string(value.view());
    co_return Result<>{};
  }
  Task<Result<>> remove(Scope scope, std::string name) override {
    if (values.erase(scope.user + "/" + name) == 0) co_return fail(Code::kNotFound, "no secret {}", name);
    co_return Result<>{};
  }
};

// An agent engine with all that it stands on, for tests and benchmarks: the database and the model are theirs. Loop thread only.
class EngineParts {
 public:
  static constexpr std::int64_t kContextTokens = 100'000;  // of the model

  EngineParts(runtime::EventLoop& loop, std::unique_ptr<store::sqlite::Database> database,
              llm::Provider& model);
  ~EngineParts();
  EngineParts(const EngineParts&) = delete;
  EngineParts& operator=(const EngineParts&) = delete;

  // A new engine on the same database, and what a crash left open is taken up. An earlier one is stopped first.
  void start(agent::EngineSettings settings = {});

  agent::Engine& engine() { return *engine_; }
  store::sqlite::Database& database() { return *database_; }

  tools::Registry tools;
  hooks::Chain hooks;
  obs::Metrics metrics;
  FixedKnowledge knowledge;
  KeptUploads uploads;
  OpenVault vault;
  bool sees_images = false;                                   // the model
  llm::PromptStyle prompt = llm::PromptStyle::kFull;          // the model's
  llm::ToolCalling tool_calling = llm::ToolCalling::kNative;  // the model's
  std::int64_t context_tokens = kContextTokens;               // the model's
  store::BlobStore* blobs = nullptr;          // instead of the database's own, from the next start() on
  store::TurnLogStore* log = nullptr;         // instead of the database's own, from the next start() on
  store::SettingsStore* settings = nullptr;   // as well
  std::vector<std::string> ended;             // threads on which a turn has ended
  std::vector<agent::AgentSpec> agents = {};  // beside the default, from the next start() on

 private:
  void stop();

  runtime::EventLoop& loop_;
  std::unique_ptr<store::sqlite::Database> database_;
  llm::Provider& model_;
  runtime::RandomIdSource ids_;
  tools::Runner runner_;
  std::unique_ptr<agent::Engine> engine_;
};

}  // namespace chela::testing
