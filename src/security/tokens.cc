#include "security/tokens.h"

#include "base/ids.h"
#include "base/json.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "crypto/hash.h"
#include "crypto/random.h"

namespace chela::security {
namespace {

constexpr std::string_view kPrefix = "chela_";
constexpr size_t kIdBytes = 8;
constexpr size_t kMaxLabelBytes = 200;
constexpr size_t kMaxTokenBytes = 256;

std::string permissions_json(const op::Principal& principal) {
  json::Array list;
  for (const std::string& permission : principal.permissions) list.push_back(permission);
  return json::write(list);
}

op::Principal principal_of(const store::TokenRow& row) {
  op::Principal principal{
      .realm = row.realm, .user = row.user, .expires = row.expires_at, .token_id = row.id};
  const Result<json::Value> list = json::parse(row.permissions);
  // A row that cannot be read gives a token that may do nothing.
  if (!list || list->as_array() == nullptr) return principal;
  for (const json::Value& permission : *list->as_array()) {
    if (permission.as_string() != nullptr) principal.permissions.insert(*permission.as_string());
  }
  return principal;
}

Failure refused() {
  return fail(Code::kUnauthenticated, "the token is not valid; make one with `chela token create`");
}

}  // namespace

Task<Result<std::string>> TokenService::create(op::Principal principal, std::string label) {
  if (principal.realm.empty() || principal.user.empty())
    co_return fail(Code::kInvalidArgument, "a token needs a realm and a user");
  if (principal.permissions.empty())
    co_return fail(Code::kInvalidArgument, "a token needs at least one permission, such as memory:read");
  if (label.size() > kMaxLabelBytes || !utf8::valid(label)) {
    co_return fail(Code::kInvalidArgument, "a token's label has at most {} bytes of text", kMaxLabelBytes);
  }
  const UnixMs now = clock_.now();
  if (principal.expires && *principal.expires <= now)
    co_return fail(Code::kInvalidArgument, "the token would have expired already");
  const std::string secret = crypto::random_token();
  store::TokenRow row{.id = crypto::to_hex(crypto::random_bytes(kIdBytes)),
                      .hash = crypto::sha256_hex(secret),
                      .realm = principal.realm,
                      .user = principal.user,
                      .permissions = permissions_json(principal),
                      .label = std::move(label),
                      .created_at = now,
                      .expires_at = principal.expires};
  std::string text = fmt::format("{}{}_{}", kPrefix, row.id, secret);
  const Result<> stored = co_await store_.put(std::move(row));
  if (!stored) co_return fail(stored.error());
  co_return text;
}

Task<Result<op::Principal>> TokenService::verify(std::string text) {
  if (text.size() > kMaxTokenBytes || !text.starts_with(kPrefix)) co_return refused();
  const std::string_view rest = std::string_view(text).substr(kPrefix.size());
  const size_t cut = rest.find('_');
  if (cut != 2 * kIdBytes) co_return refused();
  const std::string hash = crypto::sha256_hex(rest.substr(cut + 1));
  const Result<std::optional<store::TokenRow>> row = co_await store_.get(std::string(rest.substr(0, cut)));
  if (!row) co_return fail(row.error());
  const std::string& wanted = *row ? (*row)->hash : std::string();
  if (!strings::constant_time_equals(hash, wanted)) co_return refused();
  if ((*row)->revoked_at || ((*row)->expires_at && *(*row)->expires_at <= clock_.now())) co_return refused();
  co_return principal_of(**row);
}

Task<Result<std::vector<TokenInfo>>> TokenService::list(Scope scope) {
  const Result<std::vector<store::TokenRow>> rows = co_await store_.list(std::move(scope));
  if (!rows) co_return fail(rows.error());
  std::vector<TokenInfo> tokens;
  for (const store::TokenRow& row : *rows)
    tokens.push_back({row.id, row.label, principal_of(row), row.created_at, row.revoked_at});
  co_return tokens;
}

Task<Result<std::shared_ptr<const TokenLease>>> TokenService::watch(runtime::EventLoop& loop,
                                                                    op::Principal principal) {
  // Made before the token is looked at again: a revocation is either seen by that look or ends the lease.
  auto lease = std::make_shared<const TokenLease>(loop, leases_, principal);
  if (principal.token_id.empty()) co_return lease;
  const Result<std::optional<store::TokenRow>> row = co_await store_.get(principal.token_id);
  if (!row) co_return fail(row.error());
  if (!*row || (*row)->revoked_at || lease->ended().stop_requested()) co_return refused();
  co_return lease;
}

Task<Result<>> TokenService::revoke(Scope scope, std::string id) {
  const Result<bool> found = co_await store_.revoke(std::move(scope), id, clock_.now());
  if (!found) co_return fail(found.error());
  if (!*found) co_return fail(Code::kNotFound, "there is no token '{}'; `chela token list` shows yours", id);
  leases_.end(id);
  co_return Result<>{};
}

}  // namespace chela::security
