#include "security/file_vault.h"

namespace chela::security {

Task<Result<std::vector<SecretInfo>>> FileVault::list(Scope scope) {
  co_return co_await pool_.run([file = file_, scope = std::move(scope)] { return file->list(scope); });
}

Task<Result<crypto::Secret>> FileVault::get(Scope scope, std::string name) {
  co_return co_await pool_.run(
      [file = file_, scope = std::move(scope), name = std::move(name)] { return file->get(scope, name); });
}

Task<Result<>> FileVault::set(Scope scope, std::string name, crypto::Secret value) {
  Result<> done = co_await pool_.run([file = file_, scope = std::move(scope), name = std::move(name),
                                      value = std::move(value),
                                      now = clock_.now()] { return file->set(scope, name, value, now); });
  if (done && tell_) co_await tell_();
  co_return done;
}

Task<Result<>> FileVault::remove(Scope scope, std::string name) {
  Result<> done = co_await pool_.run(
      [file = file_, scope = std::move(scope), name = std::move(name)] { return file->remove(scope, name); });
  if (done && tell_) co_await tell_();
  co_return done;
}

}  // namespace chela::security
