#include "security/vault_file.h"

#include <chrono>
#include <thread>

#include "base/limits.h"
#include "base/strings.h"
#include "crypto/random.h"
#include "obs/log.h"
#include "os/file.h"

namespace chela::security {
namespace {

constexpr mode_t kPrivate = 0600;

VaultEntryKey key_of(const Scope& scope, const std::string& name) { return {scope.realm, scope.user, name}; }

Failure no_secret(const std::string& name) {
  return fail(Code::kNotFound,
              "there is no secret '{}'; `chela secret list` shows them, `chela secret set` adds one", name);
}

Result<crypto::Secret> checked_key(crypto::Secret key, std::string_view where) {
  if (key.size() < kMinMasterKeyBytes || key.size() > kMaxMasterKeyBytes)
    return fail(Code::kInvalidArgument,
                "the master key in {} must have {} to {} bytes; `openssl rand -hex 32` makes one", where,
                kMinMasterKeyBytes, kMaxMasterKeyBytes);
  log::register_secret(key.view());
  return key;
}

}  // namespace

VaultFile::VaultFile(std::string home, std::string_view master_key, std::chrono::milliseconds lock_wait)
    : path_(home + "/vault"),
      key_path_(home + "/vault.key"),
      lock_path_(home + "/vault.lock"),
      given_key_(master_key),
      lock_wait_(lock_wait) {}

// Whoever holds the lock only reads and writes a small file, so waiting is worth it.
Result<os::FileLock> VaultFile::lock() const {
  for (auto waited = std::chrono::milliseconds(0);; waited += kVaultLockPoll) {
    Result<os::FileLock> taken = os::FileLock::acquire(lock_path_);
    if (taken || taken.error().code != Code::kConflict) return taken;
    if (waited >= lock_wait_)
      return fail(Code::kConflict, "process {} keeps the vault locked; try again when it is done",
                  taken.error().detail("pid"));
    std::this_thread::sleep_for(kVaultLockPoll);
  }
}

Result<crypto::Secret> VaultFile::master_key() const {
  if (!given_key_.empty()) return checked_key(given_key_.copy(), "SECRETS_MASTER_KEY");
  Result<std::string> text = os::read_file(key_path_, kMaxMasterKeyBytes);
  if (!text && text.error().code == Code::kNotFound) {
    return fail(Code::kNotFound,
                "the vault {} is there, its key {} is not: put it back, or set SECRETS_MASTER_KEY, or move "
                "the vault away to "
                "begin with an empty one",
                path_, key_path_);
  }
  if (!text) return fail(text.error());
  crypto::Secret key(strings::trim(*text));
  crypto::wipe(*text);
  return checked_key(std::move(key), key_path_);
}

// Under the lock, and only for a home without a vault: a key that is made beside a sealed file could never open it.
Result<crypto::Secret> VaultFile::ensure_master_key() const {
  Result<crypto::Secret> key = master_key();
  if (key || key.error().code != Code::kNotFound) return key;
  std::string made = crypto::random_token();
  crypto::Secret text = crypto::Secret::taken_from(made);
  if (Result<> written = os::write_file_atomic(key_path_, text.view(), kPrivate); !written)
    return fail(written.error());
  log::register_secret(text.view());
  return text;
}

Result<VaultEntries> VaultFile::read() const {
  const Result<std::string> file = os::read_file(path_, kMaxVaultBytes);
  if (!file) {
    if (file.error().code == Code::kNotFound) return VaultEntries();
    return fail(file.error());
  }
  if (Result<> good = check_header(*file, path_); !good) return fail(good.error());
  const Result<crypto::Secret> key = master_key();
  if (!key) return fail(key.error());
  return open_vault(*file, key->view(), path_);
}

Result<> VaultFile::write(const VaultEntries& entries) const {
  const Result<crypto::Secret> key = ensure_master_key();
  if (!key) return fail(key.error());
  const std::string file = seal_vault(entries, key->view());
  if (file.size() > kMaxVaultBytes)
    return fail(Code::kTooLarge, "the vault would have more than {} bytes; delete secrets that nobody needs",
                kMaxVaultBytes);
  return os::write_file_atomic(path_, file, kPrivate);
}

Result<std::vector<SecretInfo>> VaultFile::list(const Scope& scope) const {
  const Result<VaultEntries> entries = read();
  if (!entries) return fail(entries.error());
  std::vector<SecretInfo> found;
  for (auto entry = entries->lower_bound(key_of(scope, "")); entry != entries->end(); ++entry) {
    const auto& [realm, user, name] = entry->first;
    if (realm != scope.realm || user != scope.user) break;
    found.push_back(
        {.name = name, .created_at = entry->second.created_at, .updated_at = entry->second.updated_at});
  }
  return found;
}

Result<crypto::Secret> VaultFile::get(const Scope& scope, const std::string& name) const {
  if (Result<> good = check_secret_name(name); !good) return fail(good.error());
  Result<VaultEntries> entries = read();
  if (!entries) return fail(entries.error());
  const auto found = entries->find(key_of(scope, name));
  if (found == entries->end()) return no_secret(name);
  log::register_secret(found->second.value.view());
  return std::move(found->second.value);
}

Result<> VaultFile::set(const Scope& scope, const std::string& name, const crypto::Secret& value,
                        UnixMs now) const {
  if (Result<> good = check_secret_name(name); !good) return good;
  if (Result<> good = check_secret_value(value.view()); !good) return good;
  if (scope.realm.size() > kMaxForeignIdBytes || scope.user.size() > kMaxForeignIdBytes)
    return fail(Code::kInvalidArgument, "the vault takes names of users of at most {} bytes",
                kMaxForeignIdBytes);
  log::register_secret(value.view());
  const Result<os::FileLock> locked = lock();
  if (!locked) return fail(locked.error());
  Result<VaultEntries> entries = read();
  if (!entries) return fail(entries.error());
  const auto [entry, added] = entries->try_emplace(key_of(scope, name));
  if (added && entries->size() > kMaxSecrets)
    return fail(Code::kTooLarge, "the vault holds {} secrets already; delete one that nobody needs",
                kMaxSecrets);
  if (added) entry->second.created_at = now;
  entry->second.updated_at = now;
  entry->second.value = value.copy();
  return write(*entries);
}

Result<> VaultFile::remove(const Scope& scope, const std::string& name) const {
  if (Result<> good = check_secret_name(name); !good) return good;
  const Result<os::FileLock> locked = lock();
  if (!locked) return fail(locked.error());
  Result<VaultEntries> entries = read();
  if (!entries) return fail(entries.error());
  if (entries->erase(key_of(scope, name)) == 0) return no_secret(name);
  return write(*entries);
}

Result<> VaultFile::check() const {
  const Result<VaultEntries> entries = read();
  if (!entries) return fail(entries.error());
  for (const auto& [key, entry] : *entries) log::register_secret(entry.value.view());
  return {};
}

}  // namespace chela::security
