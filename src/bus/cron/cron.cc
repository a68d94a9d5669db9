#include "bus/cron/cron.h"

#include <algorithm>

#include "bus/cron/next_run.h"
#include "crypto/hash.h"
#include "obs/log.h"

namespace chela::bus::cron {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kSpace = "jobs";
constexpr std::string_view kRuns = "Times at which jobs were due, by what became of them";

// Two triggers with one key are one job.
std::string key_of(const BoundTrigger& trigger) {
  json::Value parts =
      json::Value::array({trigger.tenant, trigger.function_id, json::canonical(trigger.config)});
  if (!trigger.metadata.is_null()) parts.push_back(json::canonical(trigger.metadata));
  return crypto::sha256_hex(json::write(parts));
}

Result<Missed> missed_in(const json::Value& config, Missed otherwise) {
  const json::Value* value = config.find("missed_runs");
  if (value == nullptr || value->is_null()) return otherwise;
  const std::string* text = value->as_string();
  if (text != nullptr && *text == "skip") return Missed::kSkip;
  if (text != nullptr && *text == "once") return Missed::kOnce;
  return fail(Code::kInvalidArgument, "missed_runs must be skip or once, not {}", json::write(*value));
}

}  // namespace

Cron::Cron(CronParts parts, Missed missed)
    : parts_(std::move(parts)),
      missed_(missed),
      tasks_(parts_.loop),
      ok_(parts_.metrics.counter("chela_bus_cron_runs_total", kRuns, {{"outcome", "ok"}})),
      failed_(parts_.metrics.counter("chela_bus_cron_runs_total", kRuns, {{"outcome", "error"}})),
      skipped_(parts_.metrics.counter("chela_bus_cron_runs_total", kRuns, {{"outcome", "skipped"}})) {}

Cron::~Cron() {
  if (timer_) parts_.loop.cancel(*timer_);
}

Task<Result<>> Cron::start() {
  if (parts_.open) {
    Result<std::unique_ptr<store::Records>> opened = co_await parts_.open();
    if (!opened) co_return fail(opened.error());
    records_ = std::move(*opened);
    if (Result<> loaded = co_await load(); !loaded) co_return loaded;
  }
  co_return parts_.bus.add_trigger_type(
      {.id = "cron",
       .description = "a time has come",
       .trigger_format =
           R"({"type":"object","properties":{"expression":{"type":"string"},"timezone":{"type":"string"},)"
           R"("missed_runs":{"enum":["skip","once"]},"condition_function_id":{"type":"string"}},)"
           R"("required":["expression"]})"},
      *this);
}

Task<Result<>> Cron::load() {
  co_return co_await store::each_record(
      *records_, std::string(kSpace), [this](const store::Record& record) -> Result<> {
        const Result<json::Value> value = json::parse(record.value);
        const json::Value* until = value ? value->find("settled") : nullptr;
        if (until == nullptr || !until->as_int())
          return fail(Code::kInternal, "the record {}/{} is no record of a job", record.space, record.key);
        settled_[record.key] = *until->as_int();
        return {};
      });
}

Task<> Cron::stop() {
  stopped_ = true;
  if (timer_) parts_.loop.cancel(*timer_);
  timer_.reset();
  due_.clear();
  jobs_.clear();
  of_user_.clear();
  tasks_.stop();
  co_await tasks_.join();
  if (records_) co_await records_->close();
}

json::Value Cron::status() const {
  return json::Value::object({{"jobs", jobs_.size()}, {"durable", static_cast<bool>(parts_.open)}});
}

// --- jobs

// A zone's data is read here, on the loop: that takes a moment once per zone, and its owner must hear of a wrong name now.
Result<Cron::JobPtr> Cron::make_job(const BoundTrigger& trigger, std::string key) const {
  const json::Value* text = trigger.config.find("expression");
  if (text == nullptr || text->as_string() == nullptr)
    return fail(Code::kInvalidArgument,
                "Invalid cron expression: the trigger's config needs the text 'expression'");
  Result<Expression> expression = Expression::parse(*text->as_string());
  if (!expression) return fail(expression.error());
  const Result<Missed> missed = missed_in(trigger.config, missed_);
  if (!missed) return fail(missed.error());
  std::string zone = trigger.config.string_or("timezone", "UTC");
  if (const Result<std::optional<UnixMs>> known = next_run(*expression, zone, parts_.loop.clock().now());
      !known)
    return fail(known.error());
  return std::make_shared<Job>(Job{.key = std::move(key),
                                   .tenant = trigger.tenant,
                                   .expression = std::move(*expression),
                                   .zone = std::move(zone),
                                   .missed = *missed});
}

Result<> Cron::bind(BoundTriggerPtr trigger) {
  if (stopped_) return fail(Code::kUnavailable, "the engine stops");
  std::string key = key_of(*trigger);
  if (const auto found = jobs_.find(key); found != jobs_.end()) {
    found->second->triggers.push_back(std::move(trigger));
    if (!found->second->due) schedule(found->second, settled(*found->second));
    return {};
  }
  if (jobs_.size() >= kMaxJobs)
    return fail(Code::kTooLarge, "there are {} jobs, which is the limit", kMaxJobs);
  if (const auto own = of_user_.find(trigger->tenant); own != of_user_.end() && own->second >= kMaxUserJobs)
    return fail(Code::kTooLarge, "there are {} jobs of yours, which is the limit", kMaxUserJobs);
  const Result<JobPtr> job = make_job(*trigger, key);
  if (!job) return fail(job.error());
  (*job)->triggers.push_back(std::move(trigger));
  jobs_.emplace(key, *job);
  ++of_user_[(*job)->tenant];
  const UnixMs now = parts_.loop.clock().now();
  const bool seen_before = settled_.contains(key);
  UnixMs after = now;
  if (seen_before) after = settled(**job);
  // What is only a little late is run all the same.
  if ((*job)->missed == Missed::kSkip) after = std::max(after, now - milliseconds(kLateRun).count());
  schedule(*job, after);
  // So that what this job misses from now on is known.
  if ((*job)->missed == Missed::kOnce && !seen_before) tasks_.spawn(keep(std::move(key), now));
  return {};
}

void Cron::release(const BoundTrigger& trigger) {
  const auto found = jobs_.find(key_of(trigger));
  if (found == jobs_.end()) return;
  const JobPtr job = found->second;
  std::erase_if(job->triggers, [&trigger](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  if (!job->triggers.empty()) return;
  unschedule(*job);
  forget_if_done(job);
}

// A job that runs is known until its end, so that one that comes back meanwhile does not run beside itself.
void Cron::forget_if_done(const JobPtr& job) {
  if (job->running || !job->triggers.empty() || jobs_.erase(job->key) == 0) return;
  if (const auto own = of_user_.find(job->tenant); --own->second == 0) of_user_.erase(own);
}

// --- time

// A clock that was far ahead once must not keep a job from running.
UnixMs Cron::settled(const Job& job) const {
  const auto found = settled_.find(job.key);
  const UnixMs now = parts_.loop.clock().now();
  if (found == settled_.end() || found->second > now + milliseconds(kClockStep).count()) return now;
  return found->second;
}

void Cron::schedule(const JobPtr& job, UnixMs after) {
  const Result<std::optional<UnixMs>> next = next_run(job->expression, job->zone, after);
  if (!next) {
    log::error("bus", "a job has no next run",
               {{"function", job->triggers.front()->function_id}, {"error", next.error().message}});
    return;
  }
  if (!*next) return;
  job->due = **next;
  due_.emplace(**next, job);
  set_timer();
}

void Cron::unschedule(Job& job) {
  if (!job.due) return;
  const auto [first, last] = due_.equal_range(*job.due);
  const auto own = std::find_if(first, last, [&job](const auto& each) { return each.second.get() == &job; });
  due_.erase(own);
  job.due.reset();
  set_timer();
}

void Cron::set_timer() {
  if (timer_) parts_.loop.cancel(*timer_);
  timer_.reset();
  if (due_.empty()) return;
  const UnixMs left = std::max<UnixMs>(due_.begin()->first - parts_.loop.clock().now(), 0);
  const milliseconds wait = std::min<milliseconds>(milliseconds(left), kClockCheck);
  timer_ = parts_.loop.call_at(parts_.loop.clock().steady() + wait, [this] {
    timer_.reset();
    run_due();
  });
}

void Cron::run_due() {
  const UnixMs now = parts_.loop.clock().now();
  std::vector<JobPtr> jobs;
  while (!due_.empty() && due_.begin()->first <= now) {
    jobs.push_back(std::move(due_.begin()->second));
    due_.erase(due_.begin());
  }
  for (const JobPtr& job : jobs) come_due(job, now);
  set_timer();
}

void Cron::come_due(const JobPtr& job, UnixMs now) {
  const UnixMs scheduled = *job->due;
  job->due.reset();
  const bool late = now - scheduled > milliseconds(kLateRun).count();
  schedule(job, now);  // one run stands for all that have come due meanwhile
  if (job->running || (late && job->missed == Missed::kSkip)) {
    skipped_.add();
    log::debug("bus", "a run of a job was left out",
               {{"function", job->triggers.front()->function_id},
                {"why", job->running ? "it still runs" : "it is late"}});
    return;
  }
  job->running = true;
  tasks_.spawn(run(job, scheduled, now));
}

Task<> Cron::run(JobPtr job, UnixMs scheduled, UnixMs settled_until) {
  if (const Result<> kept = co_await settle(job->key, settled_until); !kept) {
    skipped_.add();
    log::error("bus", "a run of a job was left out, as its time could not be recorded",
               {{"error", kept.error().message}});
  } else {
    co_await call(job, scheduled);
  }
  job->running = false;
  if (!stopped_) forget_if_done(job);
}

Task<> Cron::call(JobPtr job, UnixMs scheduled) {
  const auto live = std::ranges::find_if(
      job->triggers, [](const BoundTriggerPtr& each) { return !each->ended.stop_requested(); });
  if (live == job->triggers.end()) {
    skipped_.add();  // its owner left while the time was recorded
    co_return;
  }
  const BoundTriggerPtr trigger = *live;
  const Payload payload(json::Value::object({{"trigger", "cron"},
                                             {"job_id", trigger->id},
                                             {"scheduled_time", format_rfc3339(scheduled)},
                                             {"actual_time", format_rfc3339(parts_.loop.clock().now())}}));
  const Result<bool> met = co_await parts_.bus.condition_met(trigger, payload, {.stop = tasks_.stop_token()});
  if (met && !*met) {
    skipped_.add();
    co_return;
  }
  Result<> done = met ? Result<>() : fail(met.error());
  if (met) {
    const Result<json::Value> said =
        co_await parts_.bus.run_trigger(trigger, payload, {.stop = tasks_.stop_token()});
    if (!said) done = fail(said.error());
  }
  (done ? ok_ : failed_).add();
  if (!done)
    log::warn("bus", "a job failed", {{"function", trigger->function_id}, {"error", done.error().message}});
}

// --- what is recorded

Task<> Cron::keep(std::string key, UnixMs until) {
  if (const Result<> kept = co_await settle(std::move(key), until); !kept)
    log::error("bus", "the time of a job could not be recorded", {{"error", kept.error().message}});
}

Task<Result<>> Cron::settle(std::string key, UnixMs until) {
  std::vector<store::RecordChange> changes;
  if (!settled_.contains(key) && settled_.size() >= kMaxJobRecords) {
    const auto oldest = std::ranges::min_element(settled_, {}, &std::pair<const std::string, UnixMs>::second);
    changes.push_back({.space = std::string(kSpace), .key = oldest->first, .value = std::nullopt});
    settled_.erase(oldest);
  }
  settled_[key] = until;
  if (!records_) co_return Result<>{};
  changes.push_back({.space = std::string(kSpace),
                     .key = std::move(key),
                     .value = json::write(json::Value::object({{"settled", until}}))});
  co_return co_await records_->commit(std::move(changes));
}

}  // namespace chela::bus::cron
