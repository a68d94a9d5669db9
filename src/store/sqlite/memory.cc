#include "store/sqlite/memory.h"

#include "store/sqlite/memory_search.h"
#include "store/sqlite/memory_write.h"

namespace chela::store::sqlite {

Task<Result<DocumentRow>> Memory::write(Scope scope, Write write, Chunker chunk) {
  const size_t bytes = write.content.size();
  return writer_.write(Durability::kBarrier, bytes,
                       [scope = std::move(scope), write = std::move(write), chunk](Connection& db) mutable {
                         return write_document(db, scope, std::move(write), chunk);
                       });
}

Task<Result<DocumentRow>> Memory::read(Scope scope, std::string path) {
  return readers_.read(
      [scope = std::move(scope), path = std::move(path)](Connection& db) -> Result<DocumentRow> {
        Result<std::optional<DocumentRow>> found = db.one(
            "SELECT id, path, content, agent, created_at, updated_at FROM documents"
            " WHERE realm = ? AND user_id = ? AND agent IN ('', ?) AND path = ? ORDER BY agent = '' LIMIT 1",
            {scope.realm, scope.user, scope.agent, path}, [](const Row& row) {
              return DocumentRow{.id = row.text(0),
                                 .path = row.text(1),
                                 .content = row.text(2),
                                 .agent = row.text(3),
                                 .created_at = row.integer(4),
                                 .updated_at = row.integer(5)};
            });
        if (!found) return fail(std::move(found.error()));
        if (!*found) return fail(Code::kNotFound, "no document {}", path);
        return std::move(**found);
      });
}

Task<Result<bool>> Memory::remove(Scope scope, std::string path) {
  return writer_.write(Durability::kBarrier, 0,
                       [scope = std::move(scope), path = std::move(path)](Connection& db) {
                         return remove_document(db, scope, path);
                       });
}

Task<Result<std::vector<DocumentInfo>>> Memory::list(Scope scope, std::string prefix) {
  return readers_.read([scope = std::move(scope), prefix = std::move(prefix)](Connection& db) {
    // "0" is the byte after "/": the range holds exactly what starts with the prefix and a slash.
    return db.all(
        "SELECT path, agent, updated_at, bytes FROM documents WHERE realm = ?1 AND user_id = ?2 AND agent IN "
        "('', ?3)"
        " AND (?4 = '' OR path = ?4 OR (path >= ?4 || '/' AND path < ?4 || '0')) ORDER BY path, agent = ''",
        {scope.realm, scope.user, scope.agent, prefix}, [](const Row& row) {
          return DocumentInfo{.path = row.text(0),
                              .agent = row.text(1),
                              .updated_at = row.integer(2),
                              .bytes = row.integer(3)};
        });
  });
}

Task<Result<std::vector<ChunkHit>>> Memory::search_text(Scope scope, std::vector<std::string> terms,
                                                        std::size_t limit) {
  return readers_.read([scope = std::move(scope), terms = std::move(terms), limit](Connection& db) {
    return search_chunks(db, scope, terms, limit);
  });
}

}  // namespace chela::store::sqlite
