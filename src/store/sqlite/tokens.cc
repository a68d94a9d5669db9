#include "store/sqlite/tokens.h"

namespace chela::store::sqlite {
namespace {

TokenRow token_of(const Row& row) {
  return TokenRow{.id = row.text(0),
                  .hash = row.text(1),
                  .realm = row.text(2),
                  .user = row.text(3),
                  .permissions = row.text(4),
                  .label = row.text(5),
                  .created_at = row.integer(6),
                  .expires_at = row.maybe_integer(7),
                  .revoked_at = row.maybe_integer(8)};
}

}  // namespace

Task<Result<>> Tokens::put(TokenRow row) {
  return writer_.write(Durability::kBarrier, 0, [row = std::move(row)](Connection& db) -> Result<> {
    Result<> inserted = db.run(
        "INSERT INTO tokens (id, hash, realm, user_id, permissions, label, created_at, expires_at, "
        "revoked_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        {row.id, row.hash, row.realm, row.user, row.permissions, row.label, row.created_at, row.expires_at,
         row.revoked_at});
    if (!inserted && inserted.error().code == Code::kConflict)
      return fail(Code::kConflict, "the token id {} is taken", row.id);
    return inserted;
  });
}

Task<Result<std::optional<TokenRow>>> Tokens::get(std::string id) {
  return readers_.read([id = std::move(id)](Connection& db) {
    return db.one(
        "SELECT id, hash, realm, user_id, permissions, label, created_at, expires_at, revoked_at FROM tokens "
        "WHERE id = ?",
        {id}, token_of);
  });
}

Task<Result<std::vector<TokenRow>>> Tokens::list(Scope scope) {
  return readers_.read([scope = std::move(scope)](Connection& db) {
    return db.all(
        "SELECT id, hash, realm, user_id, permissions, label, created_at, expires_at, revoked_at FROM tokens"
        " WHERE realm = ? AND user_id = ? ORDER BY created_at, id",
        {scope.realm, scope.user}, token_of);
  });
}

Task<Result<bool>> Tokens::revoke(Scope scope, std::string id, UnixMs at) {
  return writer_.write(Durability::kBarrier, 0,
                       [scope = std::move(scope), id = std::move(id), at](Connection& db) -> Result<bool> {
                         Result<> updated = db.run(
                             "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? AND realm "
                             "= ? AND user_id = ?",
                             {at, id, scope.realm, scope.user});
                         if (!updated) return fail(std::move(updated.error()));
                         return db.changes() > 0;
                       });
}

}  // namespace chela::store::sqlite
