#pragma once

#include <functional>
#include <memory>

#include "runtime/clock.h"
#include "runtime/pool.h"
#include "security/vault.h"
#include "security/vault_file.h"

namespace chela::security {

// The vault of a home as a port: its file, read and written on the pool.
class FileVault final : public Vault {
 public:
  FileVault(std::string home, std::string_view master_key, runtime::Pool& pool, const runtime::Clock& clock)
      : file_(std::make_shared<const VaultFile>(std::move(home), master_key)), pool_(pool), clock_(clock) {}

  Task<Result<std::vector<SecretInfo>>> list(Scope scope) override;
  Task<Result<crypto::Secret>> get(Scope scope, std::string name) override;
  Task<Result<>> set(Scope scope, std::string name, crypto::Secret value) override;
  Task<Result<>> remove(Scope scope, std::string name) override;

  const VaultFile& file() const { return *file_; }
  // Awaited after each change, before whoever made it hears that it is made.
  void on_change(std::function<Task<>()> tell) { tell_ = std::move(tell); }

 private:
  std::shared_ptr<const VaultFile> file_;  // also of work that is still on the pool
  runtime::Pool& pool_;
  const runtime::Clock& clock_;
  std::function<Task<>()> tell_;
};

}  // namespace chela::security
