#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/scope.h"
#include "crypto/secret.h"
#include "os/file_lock.h"
#include "security/vault.h"
#include "security/vault_format.h"

namespace chela::security {

// The vault of one home: <home>/vault, sealed under `master_key` or, when that is empty, under <home>/vault.key, which is made with the
// first secret. Every call reads the file and keeps nothing, so that all processes of the home see the same; changes take a lock, and
// replace the file only after it was read with this key. Calls block for the disk and, when another process writes, at most for
// `lock_wait`. Thread-safe.
class VaultFile {
 public:
  VaultFile(std::string home, std::string_view master_key,
            std::chrono::milliseconds lock_wait = kVaultLockWait);

  // Errors of all: those of open_vault(); kInvalidArgument for a master key that is none; kNotFound when the vault is there and its key
  // is not.
  Result<std::vector<SecretInfo>> list(const Scope& scope) const;
  Result<crypto::Secret> get(const Scope& scope, const std::string& name) const;
  // kConflict when another process keeps writing.
  Result<> set(const Scope& scope, const std::string& name, const crypto::Secret& value, UnixMs now) const;
  Result<> remove(const Scope& scope, const std::string& name) const;

  // Has all values masked in the log; the error says what is wrong with the vault. A missing vault is an empty one.
  Result<> check() const;

  const std::string& path() const { return path_; }
  const std::string& key_path() const { return key_path_; }

 private:
  Result<VaultEntries> read() const;
  Result<os::FileLock> lock() const;
  Result<> write(const VaultEntries& entries) const;
  Result<crypto::Secret> master_key() const;
  Result<crypto::Secret> ensure_master_key() const;

  std::string path_, key_path_, lock_path_;
  crypto::Secret given_key_;
  std::chrono::milliseconds lock_wait_;
};

}  // namespace chela::security
