#include "store/sqlite/settings.h"

namespace chela::store::sqlite {

Task<Result<std::optional<std::string>>> Settings::get(Scope scope, std::string key) {
  return readers_.read([scope = std::move(scope), key = std::move(key)](Connection& db) {
    return db.one("SELECT value FROM settings WHERE realm = ? AND user_id = ? AND key = ?",
                  {scope.realm, scope.user, key}, [](const Row& row) { return row.text(0); });
  });
}

Task<Result<>> Settings::set(Scope scope, std::string key, std::string value, UnixMs at) {
  const size_t bytes = value.size();
  return writer_.write(
      Durability::kBarrier, bytes,
      [scope = std::move(scope), key = std::move(key), value = std::move(value), at](Connection& db) {
        return db.run(
            "INSERT INTO settings (realm, user_id, key, value, updated_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (realm, user_id, key) DO UPDATE SET value = excluded.value, updated_at = "
            "excluded.updated_at",
            {scope.realm, scope.user, key, value, at});
      });
}

Task<Result<bool>> Settings::remove(Scope scope, std::string key) {
  return writer_.write(Durability::kBarrier, 0,
                       [scope = std::move(scope), key = std::move(key)](Connection& db) -> Result<bool> {
                         Result<> removed =
                             db.run("DELETE FROM settings WHERE realm = ? AND user_id = ? AND key = ?",
                                    {scope.realm, scope.user, key});
                         if (!removed) return fail(std::move(removed.error()));
                         return db.changes() > 0;
                       });
}

Task<Result<std::map<std::string, std::string>>> Settings::list(Scope scope, std::string prefix) {
  return readers_.read([scope = std::move(scope), prefix = std::move(prefix)](
                           Connection& db) -> Result<std::map<std::string, std::string>> {
    std::map<std::string, std::string> found;
    // No text in UTF-8 has the byte 0xff, so every key with the prefix sorts before this one.
    Result<> read =
        db.each("SELECT key, value FROM settings WHERE realm = ? AND user_id = ? AND key >= ? AND key < ?",
                {scope.realm, scope.user, prefix, prefix + '\xff'},
                [&](const Row& row) { found.emplace(row.text(0), row.text(1)); });
    if (!read) return fail(std::move(read.error()));
    return found;
  });
}

}  // namespace chela::store::sqlite
