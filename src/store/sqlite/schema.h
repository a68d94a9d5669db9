#pragma once

#include <span>

#include "base/result.h"
#include "base/time.h"
#include "store/migrations.h"
#include "store/sqlite/connection.h"

namespace chela::store::sqlite {

// Refuses a file that is no database or that belongs to another program; a new, empty file is fine. Changes nothing.
Result<> check_identity(Connection& db);

// Brings the schema up to date: applies what is missing in the given order, each file in a transaction of its own, and records it
// with its hash in schema_migrations. kConflict when an applied file has changed since, kUnsupported when a newer Chela has been here.
Result<> migrate(Connection& db, std::span<const Migration> migrations, UnixMs now);

}  // namespace chela::store::sqlite
