#include "security/authenticator.h"

#include "base/strings.h"
#include "crypto/random.h"
#include "obs/log.h"
#include "os/file.h"

namespace chela::security {
namespace {

constexpr size_t kMaxTokenFileBytes = 4096;

}  // namespace

Result<std::string> ensure_gateway_token(const std::string& home, std::string_view configured) {
  if (!configured.empty()) {
    log::register_secret(configured);
    return std::string(configured);
  }
  const std::string path = home + "/gateway.token";
  Result<std::string> stored = os::read_file(path, kMaxTokenFileBytes);
  if (!stored && stored.error().code != Code::kNotFound) return fail(stored.error());
  std::string token = stored ? std::string(strings::trim(*stored)) : "";
  if (!token.empty()) {
    // One that came by a copy or a backup may be open to others.
    if (Result<> closed = os::make_private_file(path); !closed) return fail(closed.error());
  } else {
    token = crypto::random_token();
    const Result<> written = os::write_file_atomic(path, token + "\n", 0600);
    if (!written) return fail(written.error());
  }
  log::register_secret(token);
  return token;
}

op::Principal owner_principal(std::string_view user_id) {
  return {.realm = "default", .user = std::string(user_id), .permissions = {"*"}};
}

Task<Result<op::Principal>> Authenticator::authenticate(std::string bearer) {
  if (bearer.empty())
    co_return fail(Code::kUnauthenticated, "this needs a token: send 'Authorization: Bearer <token>'");
  if (strings::constant_time_equals(bearer, gateway_token_)) co_return owner_principal(user_id_);
  co_return co_await tokens_.verify(std::move(bearer));
}

Task<Result<op::Principal>> Authenticator::login(std::string bearer, std::string peer) {
  const std::string address = login_address(peer);
  const bool guess = !bearer.empty();  // who shows none guesses nothing
  const Result<> begun = guess ? failed_.begin(address) : Result<>{};
  Result<op::Principal> caller = co_await authenticate(std::move(bearer));
  const bool wrong = !caller && caller.error().code == Code::kUnauthenticated;
  if (guess && !wrong) failed_.forgive(address);
  if (wrong && !begun) co_return fail(begun.error());
  co_return caller;
}

}  // namespace chela::security
