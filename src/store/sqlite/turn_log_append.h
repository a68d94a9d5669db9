#pragma once

#include "base/result.h"
#include "store/sqlite/connection.h"
#include "store/turn_log_store.h"

namespace chela::store::sqlite {

// What TurnLog::append does inside the writer's transaction.
Result<Appended> append_records(Connection& db, AppendRequest request);

// The message id and the thread that the user's key was used for within kIdempotencyWindow before `now`, or nothing.
Result<std::optional<std::pair<std::string, std::string>>> find_key(Connection& db, const Scope& scope,
                                                                    const std::string& key, UnixMs now);

}  // namespace chela::store::sqlite
