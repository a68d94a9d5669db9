#include "llm/budget/budget.h"

#include <algorithm>

#include "obs/log.h"

namespace chela::llm::budget {
namespace {

store::BudgetAccounts accounts_of(const Caller& caller) {
  return {.realm = caller.scope.realm,
          .user = caller.scope.user,
          .agent = caller.scope.agent,
          .session = caller.thread,
          .job = caller.job,
          .channel = caller.channel,
          .key = caller.key};
}

bool limits_money(const config::BudgetSettings& settings) {
  return std::any_of(settings.rules.begin(), settings.rules.end(), [](const config::BudgetRule& rule) {
    return rule.window != config::BudgetWindow::kHour;
  });
}

bool limits_calls(const config::BudgetSettings& settings) {
  return std::any_of(settings.rules.begin(), settings.rules.end(), [](const config::BudgetRule& rule) {
    return rule.window == config::BudgetWindow::kHour;
  });
}

// The longest answer, thoughts and all, of a request that asks for none: what the model can, or what is enough.
std::int64_t assumed_tokens(const Request& request, const ModelInfo& info) {
  const std::string& effort = request.sampling.reasoning_effort;
  const bool thinks = info.reasons && !effort.empty() && effort != "none";
  const std::int64_t enough = kAssumedAnswerTokens + (thinks ? kAssumedThoughtTokens : 0);
  return info.max_output_tokens > 0 ? std::min(enough, info.max_output_tokens) : enough;
}

}  // namespace

Budget::Budget(Parts parts, config::BudgetSettings settings)
    : parts_(std::move(parts)),
      wanted_(settings),
      ledger_(std::move(settings)),
      tasks_(parts_.loop),
      writes_(parts_.loop),
      loading_(parts_.loop),
      refused_(parts_.metrics.counter("chela_budget_refused_total", "Calls of models that a limit refused.")),
      spent_(parts_.metrics.counter("chela_budget_spent_nanodollars_total",
                                    "What calls of models have cost, where the price is known.")) {}

Budget::~Budget() = default;

void Budget::start() { tasks_.spawn(load_in_background()); }

Task<> Budget::load_in_background() {
  if (const Result<> done = co_await ready(); !done)
    log::error("budget", "what was spent cannot be read; the next call tries again",
               {{"error", done.error().message}});
}

void Budget::configure(config::BudgetSettings settings) {
  if (settings == wanted_) return;
  wanted_ = std::move(settings);
  if (!loaded_) return;  // whoever reads takes them
  loaded_ = false;
  start();
}

Task<> Budget::stop() {
  co_await tasks_.join();
  // Of calls that ended while what was spent could not be read.
  for (Held& each : std::exchange(held_, {}))
    writes_.spawn(note(parts_.store.settle(std::move(each.settlement))));
  co_await writes_.join();
  if (!std::exchange(begun_, false)) co_return;
  if (std::exchange(incomplete_, false)) {
    log::warn("budget",
              "not every call was recorded; the next engine holds a part of the limits back for a while");
    co_return;
  }
  if (const Result<> ended = co_await parts_.store.end(); !ended)
    log::error("budget", "the end of counting was not recorded", {{"error", ended.error().message}});
}

Task<Result<>> Budget::ready() {
  while (!loaded_) {
    const runtime::Mutex::Guard guard = co_await loading_.lock();
    if (loaded_) break;
    if (Result<> done = co_await load(); !done) co_return done;
  }
  co_return Result<>{};
}

// Under the mutex. Nothing is reserved meanwhile, and settlements are held, so that nothing is counted twice or not at all.
Task<Result<>> Budget::load() {
  if (!writes_.empty()) parts_.store.commit_soon();
  co_await writes_.join();
  if (!begun_) {
    if (Result<> opened = co_await read_open_calls(); !opened) co_return opened;
  }
  ledger_.configure(wanted_, now());
  if (Result<> counted = co_await count_past(); !counted) co_return counted;
  if (wanted_ != ledger_.settings()) co_return Result<>{};  // changed meanwhile: once more
  loaded_ = true;
  for (Held& each : std::exchange(held_, {})) close(each.lease, std::move(each.settlement));
  co_return Result<>{};
}

Task<Result<>> Budget::read_open_calls() {
  const Result<std::vector<store::BudgetCall>> open = co_await parts_.store.open_calls();
  if (!open) co_return fail(open.error());
  Task<Result<bool>> beginning = parts_.store.begin();
  parts_.store.commit_soon();
  const Result<bool> died = co_await std::move(beginning);
  if (!died) co_return fail(died.error());
  begun_ = true;
  for (const store::BudgetCall& call : *open) ledger_.adopt(call, now());
  if (*died) {
    ledger_.distrust(now());
    log::warn("budget", "an engine died while it counted; its open calls count as spent for a while",
              {{"calls", open->size()}});
  }
  writes_.spawn(note(parts_.store.forget(now() - std::chrono::milliseconds(kKeepCalls).count())));
  co_return Result<>{};
}

Task<Result<>> Budget::count_past() {
  const UnixMs from = ledger_.horizon(now());
  if (limits_money(wanted_)) {
    const Result<std::vector<store::BudgetSum>> sums = co_await parts_.store.sums(from);
    if (!sums) co_return fail(sums.error());
    for (const store::BudgetSum& each : *sums) ledger_.count(each.accounts, each.at, each.cost, now());
  }
  if (limits_calls(wanted_)) {
    const Result<std::vector<store::BudgetSum>> begun = co_await parts_.store.begun(now() - 3'600'000);
    if (!begun) co_return fail(begun.error());
    for (const store::BudgetSum& each : *begun) ledger_.count_begin(each.accounts, each.at, now());
  }
  co_return Result<>{};
}

Task<> Budget::record(std::string id, Task<Result<>> write,
                      std::optional<runtime::Completion<Result<>>> done) {
  Result<> written = co_await std::move(write);
  if (written) {
    ledger_.written(id);
  } else {
    ledger_.lost(id);
    incomplete_ = true;
    log::error("budget", "a reservation was not recorded", {{"error", written.error().message}});
  }
  if (done) done->resolve(std::move(written));
}

Task<> Budget::note(Task<Result<>> write) {
  if (const Result<> written = co_await std::move(write); !written)
    log::error("budget", "what a call has cost was not recorded; it counts as reserved after a restart",
               {{"error", written.error().message}});
}

// Reservations that a crash left, when their time is over.
void Budget::expire() {
  for (const auto& [id, cost] : ledger_.expire(now()))
    writes_.spawn(note(parts_.store.settle({.id = id, .cost = cost, .priced = true})));
}

Demand Budget::demand_of(const Request& request, const TokenBound::Prompt& prompt, const ModelInfo& info,
                         const std::optional<Rates>& rates) const {
  Demand demand{.accounts = accounts_of(request.caller), .priced = rates.has_value()};
  const std::optional<std::int64_t>& asked = request.sampling.max_tokens;
  demand.output_tokens = asked ? *asked : assumed_tokens(request, info);
  demand.length = asked ? Demand::Length::kFixed : Demand::Length::kAny;
  if (!rates) return demand;
  demand.prompt = most_for_prompt(prompt.tokens, *rates);
  demand.output_rate = rates->output;
  // What was predicted wrongly is charged as written.
  if (const json::Value* prediction = request.extra.find("prediction"))
    demand.prompt =
        add(demand.prompt,
            cost_of_tokens(static_cast<std::int64_t>(json::write(*prediction).size()), rates->output));
  return demand;
}

// A model whose price nobody knows counts as calls and tokens, not as money: said once, or refused where people want that.
Result<> Budget::check_price(const Request& request, const Demand& demand) {
  if (demand.priced) return {};
  const bool limited = std::any_of(
      ledger_.settings().rules.begin(), ledger_.settings().rules.end(), [](const config::BudgetRule& rule) {
        return rule.kind == config::BudgetRule::Kind::kHard && rule.window != config::BudgetWindow::kHour;
      });
  if (!limited) return {};
  if (ledger_.settings().unpriced == config::BudgetSettings::Unpriced::kRefuse)
    return fail(Error{.code = Code::kBudgetExceeded,
                      .message = fmt::format("the price of the model {} is not known, and money is limited; "
                                             "choose another model, or set budget.unpriced = allow",
                                             request.model)}
                    .with("limit", "unpriced")
                    .with("retry", "no"));
  if (unpriced_.size() < kMaxUnpricedModels && unpriced_.insert(request.model).second)
    log::warn("budget", "the price of this model is not known: its calls count, its money does not",
              {{"model", request.model}});
  return {};
}

Task<Result<Lease>> Budget::reserve(const Request& request) {
  if (Result<> read = co_await ready(); !read) co_return fail(std::move(read.error()));
  expire();
  const ModelInfo info = parts_.model(request.model);
  Lease lease{.id = parts_.ids.next(),
              .model = request.model,
              .rates = info.price ? std::optional(rates_of(*info.price)) : std::nullopt,
              .prompt = bound_.of(request),
              .warn = request.caller.warn};
  const Demand demand = demand_of(request, lease.prompt, info, lease.rates);
  if (Result<> priced = check_price(request, demand); !priced) {
    refused_.add();
    co_return fail(std::move(priced.error()));
  }
  Result<Grant> grant = ledger_.reserve(lease.id, demand, now());
  if (!grant) {
    if (grant.error().code == Code::kBudgetExceeded) refused_.add();
    co_return fail(std::move(grant.error()));
  }
  if (grant->limited && demand.length == Demand::Length::kAny && demand.output_rate > 0)
    lease.max_tokens = grant->output_tokens;
  std::optional<runtime::Completion<Result<>>> done;
  if (grant->wait) done.emplace(parts_.loop);
  writes_.spawn(record(lease.id,
                       parts_.store.reserve({.id = lease.id,
                                             .at = now(),
                                             .accounts = demand.accounts,
                                             .model = request.model,
                                             .reserved = grant->amount,
                                             .prompt_cost = demand.prompt}),
                       done));
  tell(lease, grant->warnings);
  if (!done) co_return lease;
  parts_.store.commit_soon();
  if (Result<> written = co_await *done; !written) {
    (void)ledger_.settle(lease.id, 0, now());
    co_return fail(std::move(written.error()));
  }
  co_return lease;
}

void Budget::settle(const Lease& lease, const Usage& usage, Source source) {
  if (source == Source::kReported) bound_.learn(lease.prompt, usage.input_tokens);
  const Nano cost = lease.rates ? std::min(cost_of(usage, *lease.rates), store::kMaxBudgetAmount) : 0;
  spent_.add(static_cast<std::uint64_t>(cost));
  close(lease, {.id = lease.id,
                .cost = cost,
                .priced = lease.rates.has_value(),
                .input_tokens = usage.input_tokens,
                .output_tokens = usage.output_tokens,
                .cached_tokens = usage.cached_tokens});
}

void Budget::release(const Lease& lease) {
  close(lease, {.id = lease.id, .priced = lease.rates.has_value()});
}

void Budget::close(const Lease& lease, store::BudgetSettlement settlement) {
  if (!loaded_) {
    held_.push_back({lease, std::move(settlement)});
    return;
  }
  const std::vector<Warning> warnings = ledger_.settle(lease.id, settlement.cost, now());
  writes_.spawn(note(parts_.store.settle(std::move(settlement))));
  tell(lease, warnings);
}

void Budget::tell(const Lease& lease, const std::vector<Warning>& warnings) {
  for (const Warning& each : warnings) {
    log::warn("budget", each.message);
    if (lease.warn)
      lease.warn(
          json::Value::object({{"message", each.message}, {"limit", each.limit}, {"percent", each.percent}}));
  }
}

Task<Result<std::vector<Standing>>> Budget::standing(store::BudgetAccounts accounts) {
  if (const Result<> read = co_await ready(); !read) co_return fail(read.error());
  expire();
  co_return ledger_.standing(accounts, now());
}

Task<Result<std::vector<store::BudgetUsage>>> Budget::usage(Scope scope, int days) {
  UnixMs from = ledger_.calendar().day(now()).begin;
  for (int i = 1; i < days; ++i) from = ledger_.calendar().day(from - 1).begin;
  co_return co_await parts_.store.usage(std::move(scope), from);
}

}  // namespace chela::llm::budget
