#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "store/migrations.h"
#include "store/sqlite/connection.h"

namespace chela::store::sqlite {

// Opens or creates the file (0600; a missing folder is made, 0700), turns it to write-ahead logging and brings its schema up to date.
// Blocks. Fails with the next step to take when the file is no database, belongs to another program, or has been used by a newer Chela.
Result<std::unique_ptr<Connection>> open_database_file(const std::string& path,
                                                       std::span<const Migration> migrations, UnixMs now);

}  // namespace chela::store::sqlite
