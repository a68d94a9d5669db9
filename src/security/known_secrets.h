#pragma once

#include "security/vault.h"

namespace chela::security {

// Has every secret of the user go through the vault once, so that all are masked from then on: another process may have put them there.
// Fails when one cannot be read: what is written without knowing it might hold it.
inline Task<Result<>> know_secrets(Vault& vault, Scope scope) {
  const Result<std::vector<SecretInfo>> names = co_await vault.list(scope);
  if (!names) co_return fail(names.error());
  for (const SecretInfo& each : *names) {
    const Result<crypto::Secret> value = co_await vault.get(scope, each.name);
    if (!value && value.error().code != Code::kNotFound) co_return fail(value.error());
  }
  co_return Result<>{};
}

}  // namespace chela::security
