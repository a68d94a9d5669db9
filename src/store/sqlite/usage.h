#pragma once

#include <vector>

#include "base/result.h"
#include "store/sqlite/connection.h"
#include "store/turn_log_store.h"

namespace chela::store::sqlite {

// Adds to the day of the append, inside the writer's transaction.
Result<> add_usage(Connection& db, const AppendRequest& request, const UsageAdd& add);

Result<std::vector<UsageRow>> read_usage(Connection& db, const Scope& scope, std::int64_t first_day);

}  // namespace chela::store::sqlite
