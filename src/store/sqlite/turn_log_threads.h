#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/connection.h"
#include "store/turn_log_store.h"

// Rows of the table threads, inside a read or a write of TurnLog.
namespace chela::store::sqlite {

Result<std::optional<ThreadRow>> find_thread(Connection& db, const Scope& scope, const std::string& id);

// "" as the external name finds nothing.
Result<std::optional<ThreadRow>> find_by_key(Connection& db, const Scope& scope, const std::string& channel,
                                             const std::string& external);

// Two conversations of the same words: the one used last.
Result<std::optional<ThreadRow>> find_by_transcript(Connection& db, const Scope& scope,
                                                    const std::string& channel, const std::string& hash);

// Newest activity first.
Result<std::vector<ThreadRow>> list_threads(Connection& db, const Scope& scope, const ThreadFilter& filter);

// Of all users.
Result<std::vector<ThreadRow>> list_open_threads(Connection& db);

// A thread without records. kConflict when its id or its key is taken.
Result<> insert_thread(Connection& db, const ThreadRow& row);

// The thread of the row's key, made when there is none.
Result<ThreadRow> find_or_insert_thread(Connection& db, const ThreadRow& row);

}  // namespace chela::store::sqlite
