#include "llm/budget/ledger.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/time_zone.h"

namespace chela::llm::budget {
namespace {

using config::BudgetOf;
using config::BudgetRule;
using config::BudgetWindow;

constexpr UnixMs kHourMs = 3'600'000;
constexpr UnixMs kLifeMs = std::chrono::milliseconds(kReservationLife).count();

bool counts_money(const BudgetRule& rule) { return rule.window != BudgetWindow::kHour; }
bool is_hard(const BudgetRule& rule) { return rule.kind == BudgetRule::Kind::kHard; }

std::string amount_text(const BudgetRule& rule, std::int64_t amount) {
  return counts_money(rule) ? dollars(amount) : fmt::format("{} calls", amount);
}

std::string time_text(UnixMs time, const std::string& zone) {
  if (zone != "UTC") {
    if (const Result<LocalTime> local = to_local(time, zone)) return format_rfc3339(*local);
  }
  return format_rfc3339(time);
}

// "the limit of $0.50 a day of agent researcher"
std::string limit_text(const BudgetRule& rule, std::string_view name) {
  constexpr std::string_view kTimes[] = {"an hour", "a day", "a month"};
  std::string whose = rule.of == BudgetOf::kAll ? " for all calls of models" : " of ";
  if (rule.of != BudgetOf::kAll) whose += fmt::format("{} {}", config::budget_of_name(rule.of), name);
  return fmt::format("the limit of {} {}{}", amount_text(rule, rule.limit),
                     kTimes[static_cast<size_t>(rule.window)], whose);
}

}  // namespace

// The account that the rule counts the call for; null when it is none of its.
const std::string* Ledger::account(const BudgetRule& rule, const store::BudgetAccounts& accounts) {
  static const std::string kEverybody;
  const std::string* name = nullptr;
  switch (rule.of) {
    case BudgetOf::kAll:
      return &kEverybody;
    case BudgetOf::kRealm:
      name = &accounts.realm;
      break;
    case BudgetOf::kUser:
      name = &accounts.user;
      break;
    case BudgetOf::kAgent:
      name = &accounts.agent;
      break;
    case BudgetOf::kSession:
      name = &accounts.session;
      break;
    case BudgetOf::kJob:
      name = &accounts.job;
      break;
    case BudgetOf::kChannel:
      name = &accounts.channel;
      break;
    case BudgetOf::kKey:
      name = &accounts.key;
      break;
  }
  if (name->empty() || (rule.name != "*" && rule.name != *name)) return nullptr;
  return name;
}

// The span that `now` is in. What was counted in an earlier one is over: asking is enough, nobody has to spend first.
void Ledger::roll(size_t rule, Meter& meter, UnixMs now) {
  const BudgetRule& of = settings_.rules[rule];
  if (!counts_money(of)) {
    while (!meter.calls.empty() && meter.calls.front() <= now - kHourMs) meter.calls.pop_front();
    meter.spent = static_cast<std::int64_t>(meter.calls.size());
    if (meter.spent < warns_from(of)) meter.warned = false;
    return;
  }
  if (meter.span.holds(now)) return;
  const bool later = now >= meter.span.end;
  meter.span = of.window == BudgetWindow::kDay ? calendar_.day(now) : calendar_.month(now);
  if (!later) return;  // the clock was set back: what was counted stays
  meter.spent = meter.reserved = meter.unwritten = 0;
  meter.warned = false;
}

bool Ledger::make_room(size_t rule, UnixMs now) {
  auto& all = meters_[rule];
  if (all.size() < kMaxMeters) return true;
  std::erase_if(all, [&](const auto& each) {
    roll(rule, *each.second, now);
    return each.second->spent == 0 && each.second->reserved == 0;
  });
  return all.size() < kMaxMeters;
}

// Null when too many accounts are counted.
Ledger::MeterPtr Ledger::meter(size_t rule, const store::BudgetAccounts& accounts, UnixMs now) {
  const std::string* name = account(settings_.rules[rule], accounts);
  // Users of two realms may have one name.
  const bool of_realm = settings_.rules[rule].of == BudgetOf::kUser;
  const std::string key = of_realm ? accounts.realm + '\0' + *name : *name;
  auto& all = meters_[rule];
  const auto found = all.find(key);
  if (found != all.end()) {
    roll(rule, *found->second, now);
    return found->second;
  }
  if (!make_room(rule, now)) return nullptr;
  auto made = std::make_shared<Meter>();
  roll(rule, *made, now);
  all.emplace(key, made);
  return made;
}

UnixMs Ledger::horizon(UnixMs now) { return std::min(calendar_.month(now).begin, now - kHourMs); }

void Ledger::count(const store::BudgetAccounts& accounts, UnixMs at, Nano cost, UnixMs now) {
  for (size_t i = 0; i < settings_.rules.size(); ++i) {
    const BudgetRule& rule = settings_.rules[i];
    const std::string* name = account(rule, accounts);
    if (!name || !counts_money(rule)) continue;
    const MeterPtr counted = meter(i, accounts, now);
    if (!counted || at < counted->span.begin) continue;
    counted->spent = add(counted->spent, std::max<Nano>(cost, 0));
    (void)warning(i, *name, *counted);  // whoever spent it was told
  }
}

void Ledger::count_begin(const store::BudgetAccounts& accounts, UnixMs at, UnixMs now) {
  for (size_t i = 0; i < settings_.rules.size(); ++i) {
    const BudgetRule& rule = settings_.rules[i];
    if (!account(rule, accounts) || counts_money(rule) || at <= now - kHourMs) continue;
    const MeterPtr counted = meter(i, accounts, now);
    if (!counted) continue;
    begin_call(rule, *counted, at);
  }
}

// A soft limit stops nobody: of calls past it the last are kept, which say as well that it is reached, and when it will not be.
void Ledger::begin_call(const BudgetRule& rule, Meter& meter, UnixMs at) {
  meter.calls.push_back(at);
  if (!is_hard(rule) && std::ssize(meter.calls) > std::max<std::int64_t>(rule.limit, 1))
    meter.calls.pop_front();
  meter.spent = static_cast<std::int64_t>(meter.calls.size());
}

// Money of a reservation that is there already, on the limits of now.
void Ledger::charge(Reservation& reservation, UnixMs now) {
  reservation.charges.clear();
  for (size_t i = 0; i < settings_.rules.size(); ++i) {
    const BudgetRule& rule = settings_.rules[i];
    if (!counts_money(rule) || !account(rule, reservation.accounts)) continue;
    const MeterPtr counted = meter(i, reservation.accounts, now);
    if (!counted || reservation.at < counted->span.begin) continue;
    counted->reserved = add(counted->reserved, reservation.amount);
    if (!reservation.written) counted->unwritten = add(counted->unwritten, reservation.amount);
    reservation.charges.push_back({counted, counted->span.begin, i});
  }
}

void Ledger::adopt(const store::BudgetCall& call, UnixMs now) {
  Reservation left{.accounts = call.accounts,
                   .at = call.at,
                   .amount = std::max<Nano>(call.reserved, 0),
                   .prompt = std::max<Nano>(call.prompt_cost, 0),
                   .adopted = true,
                   .written = true};
  charge(left, now);
  if (!reservations_.emplace(call.id, std::move(left)).second) return;
  adopted_.emplace_back(call.at, call.id);
  std::sort(adopted_.begin(), adopted_.end());
}

void Ledger::configure(config::BudgetSettings settings, UnixMs now) {
  settings_ = std::move(settings);
  calendar_ = Calendar(settings_.timezone);
  meters_.clear();
  meters_.resize(settings_.rules.size());
  settled_.clear();
  for (auto& [id, reservation] : reservations_) charge(reservation, now);
}

// What of the limit may be missing since an engine died.
std::int64_t Ledger::distrusted(const BudgetRule& rule, const Meter& meter, UnixMs now) const {
  if (!died_at_ || !counts_money(rule) || *died_at_ < meter.span.begin || now >= *died_at_ + kLifeMs)
    return 0;
  return rule.limit / kUnwrittenShare;
}

Error Ledger::refusal(const BudgetRule& rule, const Meter& meter, Nano needed, UnixMs now) const {
  const bool money = counts_money(rule);
  const std::int64_t hidden = distrusted(rule, meter, now);
  const std::int64_t left =
      std::max<std::int64_t>(0, rule.limit - add(add(meter.spent, meter.reserved), hidden));
  const UnixMs resets = money ? meter.span.end : (meter.calls.empty() ? now : meter.calls.front()) + kHourMs;
  std::string message = limit_text(rule, rule.name == "*" ? "each" : rule.name) + " is reached: ";
  message += fmt::format("{} spent", amount_text(rule, meter.spent));
  if (meter.reserved > 0) message += fmt::format(", {} reserved for calls that run", dollars(meter.reserved));
  if (hidden > 0) message += fmt::format(", {} held back since the engine was killed", dollars(hidden));
  message += fmt::format(", {} left", amount_text(rule, left));
  if (money) message += fmt::format(", and this call may cost {}", dollars(needed));
  const bool never = rule.limit == 0;
  if (!never) message += fmt::format("; it is free again from {} on", time_text(resets, calendar_.zone()));
  message +=
      rule.key.contains('/')
          ? fmt::format("; `chela usage` shows what was spent, {} says the limit", rule.key)
          : fmt::format("; `chela usage` shows what was spent, `chela config set {} ...` changes the limit",
                        rule.key);
  Error error{.code = Code::kBudgetExceeded, .message = std::move(message)};
  error.with("limit", config::describe(rule))
      .with("left", money ? dollars(left) : fmt::to_string(left))
      .with("resets_at", format_rfc3339(resets))
      .with("retry", "no");
  if (!never) error.retry_after = std::chrono::milliseconds(std::max<UnixMs>(resets - now, 0));
  return error;
}

// What has to be spent for a warning.
std::int64_t Ledger::warns_from(const BudgetRule& rule) const {
  const int share = is_hard(rule) ? settings_.warn_percent : 100;
  // limit / 100 first: nano-dollars times 100 would be too large for some.
  return rule.limit / 100 * share + (rule.limit % 100 * share + 99) / 100;
}

// Once a span, when the limit is near (a soft one: reached).
std::optional<Warning> Ledger::warning(size_t index, const std::string& name, Meter& meter) {
  const BudgetRule& rule = settings_.rules[index];
  if (meter.warned || rule.limit == 0 || meter.spent < warns_from(rule)) return std::nullopt;
  meter.warned = true;
  const std::int64_t percent = percent_of(meter.spent, rule.limit);
  return Warning{.message = fmt::format("{} % of {} are spent: {} of {}{}", percent, limit_text(rule, name),
                                        amount_text(rule, meter.spent), amount_text(rule, rule.limit),
                                        is_hard(rule) ? "" : "; it only warns"),
                 .limit = config::describe(rule),
                 .percent = percent};
}

Result<Grant> Ledger::reserve(const std::string& id, const Demand& demand, UnixMs now) {
  Grant grant{.output_tokens = demand.output_tokens};
  std::vector<Charge> charges;
  charges.reserve(settings_.rules.size());
  for (size_t i = 0; i < settings_.rules.size(); ++i) {
    if (!account(settings_.rules[i], demand.accounts)) continue;
    MeterPtr counted = meter(i, demand.accounts, now);
    if (!counted)
      return fail(Code::kUnavailable, "the limit {} counts {} accounts at once; remove it or name accounts",
                  config::describe(settings_.rules[i]), kMaxMeters);
    charges.push_back({std::move(counted), 0, i});
  }
  // How long the answer may become for what is left.
  const auto most = [&](std::int64_t tokens) {
    return add(demand.prompt, cost_of_tokens(tokens, demand.output_rate));
  };
  for (const Charge& each : charges) {
    const BudgetRule& rule = settings_.rules[each.rule];
    const Meter& counted = *each.meter;
    if (!is_hard(rule)) continue;
    if (!counts_money(rule)) {
      if (counted.spent + 1 > rule.limit) return fail(refusal(rule, counted, 0, now));
      continue;
    }
    if (!demand.priced) continue;
    grant.limited = true;
    const Nano used = add(add(counted.spent, counted.reserved), distrusted(rule, counted, now));
    const Nano left = rule.limit - used;
    if (most(grant.output_tokens) <= left) continue;
    const std::int64_t fits = tokens_for(left - demand.prompt, demand.output_rate);
    const std::int64_t least = std::min(kMinAnswerTokens, grant.output_tokens);
    if (demand.length == Demand::Length::kFixed || fits < least)
      return fail(refusal(rule, counted,
                          most(demand.length == Demand::Length::kFixed ? grant.output_tokens : least), now));
    grant.output_tokens = fits;
  }
  grant.amount = demand.priced ? most(grant.output_tokens) : 0;
  Reservation reservation{
      .accounts = demand.accounts, .at = now, .amount = grant.amount, .prompt = demand.prompt};
  for (Charge& each : charges) {
    const BudgetRule& rule = settings_.rules[each.rule];
    Meter& counted = *each.meter;
    each.begin = counted.span.begin;
    if (counts_money(rule)) {
      if (grant.amount > 0 && is_hard(rule) &&
          add(counted.unwritten, grant.amount) > rule.limit / kUnwrittenShare)
        grant.wait = true;
      counted.reserved = add(counted.reserved, grant.amount);
      counted.unwritten = add(counted.unwritten, grant.amount);
      reservation.charges.push_back(std::move(each));
      continue;
    }
    begin_call(rule, counted, now);
    if (auto warned = warning(each.rule, *account(rule, demand.accounts), counted))
      grant.warnings.push_back(std::move(*warned));
  }
  reservations_.insert_or_assign(id, std::move(reservation));
  return grant;
}

void Ledger::written(const std::string& id) {
  const auto at_risk = [](Reservation& reservation) {
    if (std::exchange(reservation.written, true)) return;
    for (const Charge& each : reservation.charges) {
      if (each.meter->span.begin == each.begin)
        each.meter->unwritten = std::max<Nano>(0, each.meter->unwritten - reservation.amount);
    }
  };
  if (const auto found = reservations_.find(id); found != reservations_.end()) at_risk(found->second);
  if (const auto found = settled_.find(id); found != settled_.end()) {
    at_risk(found->second);
    settled_.erase(found);
  }
}

void Ledger::lost(const std::string& id) {
  settled_.erase(id);
  if (const auto found = reservations_.find(id); found != reservations_.end()) found->second.lost = true;
}

std::vector<Warning> Ledger::settle(const std::string& id, Nano cost, UnixMs now) {
  std::vector<Warning> warnings;
  const auto found = reservations_.find(id);
  if (found == reservations_.end()) return warnings;
  Reservation reservation = std::move(found->second);
  reservations_.erase(found);
  for (const Charge& each : reservation.charges) {
    Meter& counted = *each.meter;
    roll(each.rule, counted, now);
    if (counted.span.begin != each.begin) continue;  // of a day or month that is over
    counted.reserved = std::max<Nano>(0, counted.reserved - reservation.amount);
    counted.spent = add(counted.spent, std::max<Nano>(cost, 0));
    const std::string* name = account(settings_.rules[each.rule], reservation.accounts);
    if (auto warned = warning(each.rule, *name, counted)) warnings.push_back(std::move(*warned));
  }
  // A crash could still hide all of it.
  if (!reservation.written && !reservation.lost && !reservation.charges.empty())
    settled_.emplace(id, std::move(reservation));
  return warnings;
}

std::vector<std::pair<std::string, Nano>> Ledger::expire(UnixMs now) {
  std::vector<std::pair<std::string, Nano>> over;
  while (!adopted_.empty() && adopted_.front().first + kLifeMs <= now) {
    const std::string id = std::move(adopted_.front().second);
    adopted_.pop_front();
    const auto found = reservations_.find(id);
    if (found == reservations_.end()) continue;
    const Nano prompt = found->second.prompt;
    (void)settle(id, prompt, now);
    over.emplace_back(id, prompt);
  }
  return over;
}

std::vector<Standing> Ledger::standing(const store::BudgetAccounts& accounts, UnixMs now) {
  std::vector<Standing> all;
  for (size_t i = 0; i < settings_.rules.size(); ++i) {
    const BudgetRule& rule = settings_.rules[i];
    if (!account(rule, accounts)) continue;
    const MeterPtr found = meter(i, accounts, now);
    const Meter none;
    const Meter& counted = found ? *found : none;
    Standing one{.limit = config::describe(rule), .rule = rule, .spent = counted.spent};
    one.reserved = add(counted.reserved, distrusted(rule, counted, now));
    one.left = std::max<std::int64_t>(0, rule.limit - add(one.spent, one.reserved));
    one.resets_at = counted.span.end;
    if (!counts_money(rule)) one.resets_at = counted.calls.empty() ? 0 : counted.calls.front() + kHourMs;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace chela::llm::budget
