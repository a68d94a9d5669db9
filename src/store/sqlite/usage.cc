#include "store/sqlite/usage.h"

namespace chela::store::sqlite {
namespace {

constexpr UnixMs kDayMs = 86'400'000;

}  // namespace

Result<> add_usage(Connection& db, const AppendRequest& request, const UsageAdd& add) {
  return db.run(
      "INSERT INTO usage_days (realm, user_id, day, model, turns, prompt_tokens, completion_tokens, "
      "cached_tokens)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (realm, user_id, day, model) DO UPDATE SET"
      " turns = turns + ?5, prompt_tokens = prompt_tokens + ?6, completion_tokens = completion_tokens + ?7,"
      " cached_tokens = cached_tokens + ?8",
      {request.scope.realm, request.scope.user, request.at / kDayMs, add.model, add.turns, add.prompt_tokens,
       add.completion_tokens, add.cached_tokens});
}

Result<std::vector<UsageRow>> read_usage(Connection& db, const Scope& scope, std::int64_t first_day) {
  return db.all(
      "SELECT day, model, turns, prompt_tokens, completion_tokens, cached_tokens FROM usage_days"
      " WHERE realm = ? AND user_id = ? AND day >= ? ORDER BY day, model",
      {scope.realm, scope.user, first_day}, [](const Row& row) {
        return UsageRow{.day = row.integer(0),
                        .sum = {.model = row.text(1),
                                .turns = row.integer(2),
                                .prompt_tokens = row.integer(3),
                                .completion_tokens = row.integer(4),
                                .cached_tokens = row.integer(5)}};
      });
}

}  // namespace chela::store::sqlite
