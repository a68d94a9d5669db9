#include "store/sqlite/settings.h"

namespace chela::store::sqlite {
namespace {

Result<> put(Connection& db, const Scope& scope, const std::string& key, const std::string& value,
             UnixMs at) {
  return db.run(
      "INSERT INTO settings (realm, user_id, key, value, updated_at) VALUES (?, ?, ?, ?, ?)"
      " ON CONFLICT (realm, user_id, key) DO UPDATE SET value = excluded.value, updated_at = "
      "excluded.updated_at",
      {scope.realm, scope.user, key, value, at});
}

Result<> erase(Connection& db, const Scope& scope, const std::string& key) {
  return db.run("DELETE FROM settings WHERE realm = ? AND user_id = ? AND key = ?",
                {scope.realm, scope.user, key});
}

}  // namespace

Task<Result<std::optional<std::string>>> Settings::get(Scope scope, std::string key) {
  return readers_.read([scope = std::move(scope), key = std::move(key)](Connection& db) {
    return db.one("SELECT value FROM settings WHERE realm = ? AND user_id = ? AND key = ?",
                  {scope.realm, scope.user, key}, [](const Row& row) { return row.text(0); });
  });
}

Task<Result<>> Settings::set(Scope scope, std::string key, std::string value, UnixMs at) {
  const size_t bytes = value.size();
  return writer_.write(Durability::kBarrier, bytes,
                       [scope = std::move(scope), key = std::move(key), value = std::move(value),
                        at](Connection& db) { return put(db, scope, key, value, at); });
}

Task<Result<bool>> Settings::remove(Scope scope, std::string key) {
  return writer_.write(Durability::kBarrier, 0,
                       [scope = std::move(scope), key = std::move(key)](Connection& db) -> Result<bool> {
                         Result<> removed = erase(db, scope, key);
                         if (!removed) return fail(std::move(removed.error()));
                         return db.changes() > 0;
                       });
}

Task<Result<std::map<std::string, std::string>>> Settings::list(Scope scope, std::string prefix) {
  Result<std::vector<SettingRow>> found = co_await rows(std::move(scope), std::move(prefix));
  if (!found) co_return fail(std::move(found.error()));
  std::map<std::string, std::string> values;
  for (SettingRow& row : *found) values.emplace(std::move(row.key), std::move(row.value));
  co_return values;
}

Task<Result<std::vector<SettingRow>>> Settings::rows(Scope scope, std::string prefix) {
  return readers_.read([scope = std::move(scope), prefix = std::move(prefix)](Connection& db) {
    // No text in UTF-8 has the byte 0xff, so every key with the prefix sorts before this one.
    return db.all(
        "SELECT key, value, updated_at FROM settings WHERE realm = ? AND user_id = ? AND key >= ? AND key < ?"
        " ORDER BY key",
        {scope.realm, scope.user, prefix, prefix + '\xff'}, [](const Row& row) {
          return SettingRow{.key = row.text(0), .value = row.text(1), .updated_at = row.integer(2)};
        });
  });
}

Task<Result<>> Settings::apply(std::vector<SettingChange> changes, UnixMs at) {
  size_t bytes = 0;
  for (const SettingChange& change : changes) bytes += change.value ? change.value->size() : 0;
  return writer_.write(Durability::kBarrier, bytes,
                       [changes = std::move(changes), at](Connection& db) -> Result<> {
                         for (const SettingChange& change : changes) {
                           Result<> done = change.value ? put(db, change.scope, change.key, *change.value, at)
                                                        : erase(db, change.scope, change.key);
                           if (!done) return done;
                         }
                         return {};
                       });
}

}  // namespace chela::store::sqlite
