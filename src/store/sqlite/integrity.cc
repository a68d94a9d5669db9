#include "store/sqlite/integrity.h"

#include <unistd.h>

#include "store/sqlite/connection.h"

namespace chela::store::sqlite {

Result<> check_integrity(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return fail(Code::kNotFound, "there is no database {}", path);
  const auto db = Connection::open(path, Connection::Access::kReadOnly);
  if (!db) return fail(db.error());
  const auto found = (*db)->one("PRAGMA quick_check(1)", {}, [](const Row& row) { return row.text(0); });
  if (!found) return fail(found.error());
  if (*found && **found == "ok") return {};
  return fail(Code::kInternal, "the database {} is damaged: {}", path,
              found->value_or("nothing can be read"));
}

}  // namespace chela::store::sqlite
