#pragma once

#include <string_view>

#include "base/error.h"

struct sqlite3;

namespace chela::store::sqlite {

// The error for a result code of SQLite. `path` "" is the database in memory.
Error error_of(int code, std::string_view detail, std::string_view path);

}  // namespace chela::store::sqlite
