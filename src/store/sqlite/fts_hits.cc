#include "store/sqlite/fts_hits.h"

#include <sqlite3.h>

#include <cstdint>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/errors.h"

namespace chela::store::sqlite {
namespace {

constexpr int kContentColumn = 1;

int count_hits(const Fts5ExtensionApi* api, Fts5Context* fts, std::vector<std::uint32_t>& counts) {
  int words = 0;
  int code = api->xColumnSize(fts, kContentColumn, &words);
  if (code != SQLITE_OK) return code;
  counts.assign(1 + static_cast<size_t>(api->xPhraseCount(fts)), 0);
  counts[0] = static_cast<std::uint32_t>(words);
  int instances = 0;
  code = api->xInstCount(fts, &instances);
  for (int i = 0; code == SQLITE_OK && i < instances; ++i) {
    int phrase = 0;
    int column = 0;
    int offset = 0;
    code = api->xInst(fts, i, &phrase, &column, &offset);
    if (code == SQLITE_OK && column == kContentColumn) ++counts[1 + static_cast<size_t>(phrase)];
  }
  return code;
}

void chela_hits(const Fts5ExtensionApi* api, Fts5Context* fts, sqlite3_context* context, int,
                sqlite3_value**) {
  std::vector<std::uint32_t> counts;
  const int code = count_hits(api, fts, counts);
  if (code != SQLITE_OK) return sqlite3_result_error_code(context, code);
  sqlite3_result_blob64(context, counts.data(), counts.size() * sizeof(counts[0]), SQLITE_TRANSIENT);
}

}  // namespace

Result<> register_fts_hits(Connection& db) {
  // FTS5 hands out its interface through a pointer-valued parameter of a function.
  fts5_api* api = nullptr;
  sqlite3_stmt* stmt = nullptr;
  int code = sqlite3_prepare_v2(db.handle(), "SELECT fts5(?1)", -1, &stmt, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_bind_pointer(stmt, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
    sqlite3_step(stmt);
  }
  sqlite3_finalize(stmt);
  if (api == nullptr)
    return fail(
        error_of(code == SQLITE_OK ? SQLITE_ERROR : code, "full-text search is not compiled in", db.path()));
  code = api->xCreateFunction(api, "chela_hits", nullptr, &chela_hits, nullptr);
  if (code != SQLITE_OK) return fail(error_of(code, sqlite3_errstr(code), db.path()));
  return {};
}

}  // namespace chela::store::sqlite
