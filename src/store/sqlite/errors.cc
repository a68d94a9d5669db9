#include "store/sqlite/errors.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace chela::store::sqlite {
namespace {

struct Kind {
  Code code;
  const char* next_step;
};

Kind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {Code::kUnavailable, "; free some disk space, then try again"};
    case SQLITE_IOERR:
      return {Code::kUnavailable, "; check the disk, then try again"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, "; another program holds the database: end it, then try again"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return {Code::kUnavailable, "; check the permissions of the file and its folder"};
    case SQLITE_NOTADB:
      return {Code::kInvalidArgument, "; move the file away or choose another home folder"};
    case SQLITE_CORRUPT:
      return {Code::kInternal, "; restore it from a backup"};
    case SQLITE_NOMEM:
      return {Code::kUnavailable, ""};
    case SQLITE_TOOBIG:
      return {Code::kTooLarge, ""};
    case SQLITE_CONSTRAINT:
      return {Code::kConflict, ""};
    default:
      return {Code::kInternal, ""};
  }
}

}  // namespace

Error error_of(int code, std::string_view detail, std::string_view path) {
  const Kind kind = kind_of(code);
  const std::string_view name = path.empty() ? "in memory" : path;
  return Error{.code = kind.code, .message = fmt::format("database {}: {}{}", name, detail, kind.next_step)}
      .with("sqlite", fmt::format("{}", code));
}

}  // namespace chela::store::sqlite
