#include "store/sqlite/budget.h"

namespace chela::store::sqlite {
namespace {

constexpr UnixMs kQuarterMs = 900'000;

// The columns realm .. client_key, from `first` on.
BudgetAccounts accounts_of(const Row& row, int first) {
  return BudgetAccounts{.realm = row.text(first),
                        .user = row.text(first + 1),
                        .agent = row.text(first + 2),
                        .session = row.text(first + 3),
                        .job = row.text(first + 4),
                        .channel = row.text(first + 5),
                        .key = row.text(first + 6)};
}

}  // namespace

Task<Result<bool>> Budget::begin() {
  return writer_.write(Durability::kLazy, 0, [](Connection& db) -> Result<bool> {
    const auto before = db.one("SELECT running FROM budget_state WHERE one = 1", {},
                               [](const Row& row) { return row.integer(0) != 0; });
    if (!before) return fail(before.error());
    Result<> set = db.run(
        "INSERT INTO budget_state (one, running) VALUES (1, 1) ON CONFLICT (one) DO UPDATE SET running = 1");
    if (!set) return fail(std::move(set.error()));
    return before->value_or(false);
  });
}

Task<Result<>> Budget::end() {
  return writer_.write(Durability::kBarrier, 0, [](Connection& db) -> Result<> {
    return db.run("UPDATE budget_state SET running = 0 WHERE one = 1");
  });
}

Task<Result<>> Budget::reserve(BudgetCall call) {
  return writer_.write(Durability::kLazy, sizeof(call), [call = std::move(call)](Connection& db) -> Result<> {
    const BudgetAccounts& of = call.accounts;
    return db.run(
        "INSERT INTO budget_calls (id, at, quarter, open, realm, user_id, agent, session, job, channel, "
        "client_key, model, reserved, prompt_cost, cost, priced, input_tokens, output_tokens, cached_tokens)"
        " VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0)",
        {call.id, call.at, call.at / kQuarterMs, of.realm, of.user, of.agent, of.session, of.job, of.channel,
         of.key, call.model, call.reserved, call.prompt_cost});
  });
}

Task<Result<>> Budget::settle(BudgetSettlement settlement) {
  return writer_.write(Durability::kLazy, sizeof(settlement),
                       [s = std::move(settlement)](Connection& db) -> Result<> {
                         return db.run(
                             "UPDATE budget_calls SET open = 0, cost = ?, priced = ?, input_tokens = ?, "
                             "output_tokens = ?, cached_tokens = ? WHERE id = ? AND open = 1",
                             {s.cost, s.priced, s.input_tokens, s.output_tokens, s.cached_tokens, s.id});
                       });
}

Task<Result<std::vector<BudgetCall>>> Budget::open_calls() {
  return readers_.read([](Connection& db) {
    return db.all(
        "SELECT id, at, realm, user_id, agent, session, job, channel, client_key, model, reserved, "
        "prompt_cost FROM budget_calls WHERE open = 1 ORDER BY at, id",
        {}, [](const Row& row) {
          return BudgetCall{.id = row.text(0),
                            .at = row.integer(1),
                            .accounts = accounts_of(row, 2),
                            .model = row.text(9),
                            .reserved = row.integer(10),
                            .prompt_cost = row.integer(11)};
        });
  });
}

Task<Result<std::vector<BudgetSum>>> Budget::sums(UnixMs from) {
  return readers_.read([from](Connection& db) {
    return db.all(
        "SELECT quarter, realm, user_id, agent, session, job, channel, client_key, "
        "sum(min(cost, ?1)) FROM budget_calls"
        " WHERE at >= ?2 AND open = 0 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8",
        {kMaxBudgetAmount, from}, [](const Row& row) {
          return BudgetSum{
              .at = row.integer(0) * kQuarterMs, .accounts = accounts_of(row, 1), .cost = row.integer(8)};
        });
  });
}

Task<Result<std::vector<BudgetSum>>> Budget::begun(UnixMs from) {
  return readers_.read([from](Connection& db) {
    return db.all(
        "SELECT at, realm, user_id, agent, session, job, channel, client_key FROM budget_calls"
        " WHERE at >= ? ORDER BY at, id",
        {from},
        [](const Row& row) { return BudgetSum{.at = row.integer(0), .accounts = accounts_of(row, 1)}; });
  });
}

Task<Result<>> Budget::forget(UnixMs before) {
  return writer_.write(Durability::kLazy, 0, [before](Connection& db) -> Result<> {
    return db.run("DELETE FROM budget_calls WHERE at < ? AND open = 0", {before});
  });
}

Task<Result<std::vector<BudgetUsage>>> Budget::usage(Scope scope, UnixMs from) {
  return readers_.read([scope = std::move(scope), from](Connection& db) {
    return db.all(
        "SELECT quarter, agent, model, count(*), sum(priced), sum(min(cost, ?1)), sum(min(input_tokens, "
        "?1)), "
        "sum(min(output_tokens, ?1)), sum(min(cached_tokens, ?1)) FROM budget_calls"
        " WHERE realm = ?2 AND user_id = ?3 AND at >= ?4 AND open = 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        {kMaxBudgetAmount, scope.realm, scope.user, from}, [](const Row& row) {
          return BudgetUsage{.at = row.integer(0) * kQuarterMs,
                             .agent = row.text(1),
                             .model = row.text(2),
                             .calls = row.integer(3),
                             .priced = row.integer(4),
                             .cost = row.integer(5),
                             .input_tokens = row.integer(6),
                             .output_tokens = row.integer(7),
                             .cached_tokens = row.integer(8)};
        });
  });
}

}  // namespace chela::store::sqlite
