#include "store/sqlite/memory_write.h"

#include "base/limits.h"

namespace chela::store::sqlite {
namespace {

struct Stored {
  std::int64_t number = 0;
  DocumentRow row;
};

Result<std::optional<Stored>> find_own(Connection& db, const Scope& scope, const std::string& path) {
  return db.one(
      "SELECT number, id, path, content, agent, created_at, updated_at FROM documents"
      " WHERE realm = ? AND user_id = ? AND agent = ? AND path = ?",
      {scope.realm, scope.user, scope.agent, path}, [](const Row& row) {
        return Stored{.number = row.integer(0),
                      .row = {.id = row.text(1),
                              .path = row.text(2),
                              .content = row.text(3),
                              .agent = row.text(4),
                              .created_at = row.integer(5),
                              .updated_at = row.integer(6)}};
      });
}

Result<std::int64_t> owner_number(Connection& db, const Scope& scope) {
  const Result<std::optional<std::int64_t>> number = db.one(
      // An update that changes nothing, so that the number comes back also when the row was there.
      "INSERT INTO memory_owners (realm, user_id, agent) VALUES (?, ?, ?)"
      " ON CONFLICT (realm, user_id, agent) DO UPDATE SET chunks = chunks RETURNING id",
      {scope.realm, scope.user, scope.agent}, [](const Row& row) { return row.integer(0); });
  if (!number) return fail(number.error());
  return number->value_or(0);
}

// Writes the document's row and gives its number.
Result<std::int64_t> save_row(Connection& db, const Scope& scope, const std::optional<Stored>& before,
                              const DocumentRow& now) {
  if (before) {
    Result<> updated = db.run(
        "UPDATE documents SET content = ?, bytes = ?, updated_at = ? WHERE number = ? AND realm = ? AND "
        "user_id = ?",
        {now.content, now.content.size(), now.updated_at, before->number, scope.realm, scope.user});
    if (!updated) return fail(std::move(updated.error()));
    return before->number;
  }
  const Result<std::optional<std::int64_t>> number = db.one(
      "INSERT INTO documents (id, realm, user_id, agent, path, content, bytes, created_at, updated_at)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
      {now.id, scope.realm, scope.user, scope.agent, now.path, now.content, now.content.size(),
       now.created_at, now.updated_at},
      [](const Row& row) { return row.integer(0); });
  if (!number) return fail(number.error());
  return number->value_or(0);
}

Result<> drop_chunks(Connection& db, const Scope& scope, std::int64_t document, size_t from) {
  return db.run("DELETE FROM chunks WHERE document = ? AND chunk_index >= ? AND realm = ? AND user_id = ?",
                {document, from, scope.realm, scope.user});
}

// Replaces the chunks from the first one that differs: appending to a long document costs what its end costs.
Result<> save_chunks(Connection& db, const Scope& scope, std::int64_t document,
                     const std::vector<std::string>& chunks) {
  size_t same = 0;
  bool differs = false;
  Result<> done = db.each(
      "SELECT content FROM chunks WHERE document = ? AND realm = ? AND user_id = ? ORDER BY chunk_index",
      {document, scope.realm, scope.user}, [&](const Row& row) {
        differs = differs || same >= chunks.size() || row.view(0) != chunks[same];
        if (!differs) ++same;
      });
  if (done) done = drop_chunks(db, scope, document, same);
  if (!done || same == chunks.size()) return done;
  const Result<std::int64_t> owner = owner_number(db, scope);
  if (!owner) return fail(owner.error());
  for (size_t i = same; done && i < chunks.size(); ++i) {
    done = db.run(
        "INSERT INTO chunks (realm, user_id, owner, document, chunk_index, content) VALUES (?, ?, ?, ?, ?, "
        "?)",
        {scope.realm, scope.user, *owner, document, i, chunks[i]});
  }
  return done;
}

}  // namespace

Result<DocumentRow> write_document(Connection& db, const Scope& scope, MemoryStore::Write write,
                                   MemoryStore::Chunker chunk) {
  const Result<std::optional<Stored>> before = find_own(db, scope, write.path);
  if (!before) return fail(before.error());
  DocumentRow now{.id = std::move(write.id),
                  .path = write.path,
                  .content = std::move(write.content),
                  .agent = scope.agent,
                  .created_at = write.at,
                  .updated_at = write.at};
  if (*before) {
    const DocumentRow& old = (*before)->row;
    now.id = old.id;
    now.created_at = old.created_at;
    if (write.mode == MemoryStore::WriteMode::kAppend && !old.content.empty())
      now.content = old.content + "\n" + now.content;
  }
  if (now.content.size() > kMaxDocumentBytes) {
    return fail(Code::kTooLarge, "{} would have {} bytes; a document holds at most {}", write.path,
                now.content.size(), kMaxDocumentBytes);
  }
  const Result<std::int64_t> number = save_row(db, scope, *before, now);
  if (!number) return fail(number.error());
  Result<> saved = save_chunks(db, scope, *number, chunk(now.content));
  if (!saved) return fail(std::move(saved.error()));
  return now;
}

Result<bool> remove_document(Connection& db, const Scope& scope, const std::string& path) {
  const Result<std::optional<Stored>> found = find_own(db, scope, path);
  if (!found) return fail(found.error());
  if (!*found) return false;
  const std::int64_t number = (*found)->number;
  Result<> removed = drop_chunks(db, scope, number, 0);
  if (removed) {
    removed = db.run("DELETE FROM documents WHERE number = ? AND realm = ? AND user_id = ?",
                     {number, scope.realm, scope.user});
  }
  if (!removed) return fail(std::move(removed.error()));
  return true;
}

}  // namespace chela::store::sqlite
