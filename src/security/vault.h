#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "crypto/secret.h"
#include "runtime/task.h"

namespace chela::security {

// What may be shown of a secret.
struct SecretInfo {
  std::string name;
  UnixMs created_at = 0;
  UnixMs updated_at = 0;
};

// kInvalidArgument unless the name has 1 to kMaxSecretNameBytes letters, digits, '_', '-', '.' or ':', the first one a letter, digit or '_'.
Result<> check_secret_name(std::string_view name);
// kInvalidArgument for an empty value or one that is no UTF-8 text without NUL, kTooLarge above kMaxSecretBytes. Never says the value.
Result<> check_secret_value(std::string_view value);

// Secrets by realm, user and name. The scope's agent does not matter: a person's secrets are the person's. Every value that goes through
// is masked in the log from then on. Loop thread only; owned by app/.
class Vault {
 public:
  virtual ~Vault() = default;
  virtual Task<Result<std::vector<SecretInfo>>> list(Scope scope) = 0;          // by name
  virtual Task<Result<crypto::Secret>> get(Scope scope, std::string name) = 0;  // kNotFound
  // Replaces. On the disk when it returns. kTooLarge past kMaxSecrets or kMaxVaultBytes.
  virtual Task<Result<>> set(Scope scope, std::string name, crypto::Secret value) = 0;
  virtual Task<Result<>> remove(Scope scope, std::string name) = 0;  // kNotFound
};

}  // namespace chela::security
