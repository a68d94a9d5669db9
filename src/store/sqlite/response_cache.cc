#include "store/sqlite/response_cache.h"

namespace chela::store::sqlite {

Task<Result<std::optional<CachedResponse>>> ResponseCache::find(Scope scope, std::string key, UnixMs since) {
  return readers_.read([scope = std::move(scope), key = std::move(key), since](Connection& db) {
    return db.one(
        "SELECT body, at FROM response_cache WHERE realm = ? AND user_id = ? AND key = ? AND at >= ?",
        {scope.realm, scope.user, key, since},
        [](const Row& row) { return CachedResponse{.body = row.text(0), .at = row.integer(1)}; });
  });
}

Task<Result<>> ResponseCache::touch(Scope scope, std::string key, UnixMs at) {
  return writer_.write(
      Durability::kLazy, key.size(), [scope = std::move(scope), key = std::move(key), at](Connection& db) {
        return db.run("UPDATE response_cache SET used_at = ? WHERE realm = ? AND user_id = ? AND key = ?",
                      {at, scope.realm, scope.user, key});
      });
}

Task<Result<>> ResponseCache::put(Scope scope, std::string key, std::string body, UnixMs at, Limits limits) {
  const size_t bytes = body.size();
  return writer_.write(
      Durability::kLazy, bytes,
      [scope = std::move(scope), key = std::move(key), body = std::move(body), at, limits](Connection& db) {
        Result<> done = db.run(
            "INSERT INTO response_cache (realm, user_id, key, body, at, used_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (realm, user_id, key) DO UPDATE SET body = excluded.body, at = excluded.at,"
            " used_at = excluded.used_at",
            {scope.realm, scope.user, key, body, at, at});
        if (!done) return done;
        done = db.run("DELETE FROM response_cache WHERE realm = ? AND user_id = ? AND at < ?",
                      {scope.realm, scope.user, limits.since});
        if (!done) return done;
        return db.run(
            "DELETE FROM response_cache WHERE rowid IN (SELECT rowid FROM response_cache WHERE realm = ? AND "
            "user_id = ? ORDER BY used_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
            {scope.realm, scope.user, limits.max_entries});
      });
}

}  // namespace chela::store::sqlite
