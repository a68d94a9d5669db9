#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strings.h"

struct sqlite3;
struct sqlite3_stmt;

namespace chela::store::sqlite {

// A parameter of a statement. Text is borrowed: it must live until the call that takes the parameter returns.
class Arg {
 public:
  enum class Kind { kNull, kInteger, kText, kBlob };

  template <class T>
    requires std::is_integral_v<T>
  Arg(T value) : kind_(Kind::kInteger), integer_(static_cast<std::int64_t>(value)) {}
  Arg(const std::string& value) : kind_(Kind::kText), bytes_(value) {}
  Arg(std::string_view value) : kind_(Kind::kText), bytes_(value) {}
  Arg(const char* value) : kind_(Kind::kText), bytes_(value) {}
  template <class T>
  Arg(const std::optional<T>& value) : Arg(value ? Arg(*value) : Arg()) {}
  static Arg blob(std::string_view value) {
    Arg arg(value);
    arg.kind_ = Kind::kBlob;
    return arg;
  }

 private:
  friend class Connection;
  Arg() : kind_(Kind::kNull) {}

  Kind kind_;
  std::int64_t integer_ = 0;
  std::string_view bytes_;
};

// The current row of a statement; columns count from 0. Views live until the next step.
class Row {
 public:
  std::int64_t integer(int column) const;
  std::optional<std::int64_t> maybe_integer(int column) const;
  std::string_view view(int column) const;
  std::string text(int column) const { return std::string(view(column)); }

 private:
  friend class Statement;
  explicit Row(sqlite3_stmt* stmt) : stmt_(stmt) {}
  sqlite3_stmt* stmt_;
};

// A statement of a connection's cache in use; gives it back when it goes.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* stmt, const std::string& path) : stmt_(stmt), path_(&path) {}
  Statement(Statement&& other) noexcept : stmt_(std::exchange(other.stmt_, nullptr)), path_(other.path_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Result<bool> step();  // true: there is a row
  Row row() const { return Row(stmt_); }

 private:
  sqlite3_stmt* stmt_;
  const std::string* path_;
};

// One SQLite connection with its prepared statements. Used by one thread at a time. No exceptions; errors name the file and, where
// there is one, the next step.
class Connection {
 public:
  enum class Access { kReadWrite, kReadOnly };

  // `path` "" opens a private database in memory. Cache sizes are small: many connections share the kernel's page cache.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Access access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs a statement to its end.
  Result<> run(std::string_view sql, std::initializer_list<Arg> args = {});

  // The first row through `map`, or nothing. The statement runs to its end.
  template <class Map>
  auto one(std::string_view sql, std::initializer_list<Arg> args, Map map)
      -> Result<std::optional<std::invoke_result_t<Map, const Row&>>> {
    std::optional<std::invoke_result_t<Map, const Row&>> found;
    Result<> done = each(sql, args, [&](const Row& row) {
      if (!found) found.emplace(map(row));
    });
    if (!done) return fail(std::move(done.error()));
    return found;
  }

  // All rows through `map`.
  template <class Map>
  auto all(std::string_view sql, std::initializer_list<Arg> args, Map map)
      -> Result<std::vector<std::invoke_result_t<Map, const Row&>>> {
    std::vector<std::invoke_result_t<Map, const Row&>> rows;
    Result<> done = each(sql, args, [&](const Row& row) { rows.push_back(map(row)); });
    if (!done) return fail(std::move(done.error()));
    return rows;
  }

  // Each row to `visit`; when that gives a bool, false ends it.
  template <class Visit>
  Result<> each(std::string_view sql, std::initializer_list<Arg> args, Visit visit) {
    Result<Statement> statement = use(sql, args);
    if (!statement) return fail(std::move(statement.error()));
    while (true) {
      const Result<bool> more = statement->step();
      if (!more) return fail(more.error());
      if (!*more) return {};
      if constexpr (std::is_same_v<std::invoke_result_t<Visit&, const Row&>, bool>) {
        if (!visit(statement->row())) return {};
      } else {
        visit(statement->row());
      }
    }
  }

  // Runs statements separated by ";", for migrations and settings. They are not kept.
  Result<> script(const std::string& sql);

  // Turns the database file to write-ahead logging, for good: readers and the writer never wait for each other. A commit is on the disk
  // when it returns; checkpoints happen only through checkpoint().
  Result<> use_wal();

  std::int64_t changes() const;                 // rows that the last statement changed
  bool in_transaction() const;                  // false also after an error that took the transaction back
  int wal_pages() const { return wal_pages_; }  // in the write-ahead log after the last commit

  // Copies pages of the write-ahead log back into the database file; the next commit then starts the log from its beginning, unless
  // somebody reads from it just then. kRestart waits (briefly) for readers so that it does; one who stays is no error.
  enum class Checkpoint { kPassive, kRestart };
  Result<> checkpoint(Checkpoint kind);

  sqlite3* handle() { return db_; }
  const std::string& path() const { return path_; }

 private:
  Connection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  Result<> configure(Access access);
  Result<Statement> use(std::string_view sql, std::initializer_list<Arg> args);

  sqlite3* db_;
  std::string path_;
  int wal_pages_ = 0;
  std::unordered_map<std::string, sqlite3_stmt*, strings::Hash, std::equal_to<>> statements_;
};

// Several statements that see one state of the database, on a connection that only reads. Ends with the object.
class Snapshot {
 public:
  static Result<Snapshot> begin(Connection& db);
  Snapshot(Snapshot&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;
  ~Snapshot();

 private:
  explicit Snapshot(Connection* db) : db_(db) {}
  Connection* db_;  // null: the caller was inside a transaction already
};

}  // namespace chela::store::sqlite
