#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/cron/expression.h"
#include "bus/cron/limits.h"
#include "bus/module.h"
#include "bus/provider.h"
#include "obs/metrics.h"
#include "runtime/task_group.h"
#include "store/records.h"

namespace chela::bus::cron {

// What becomes of runs that were due while the engine or every worker of the job was away, or the machine asleep: they are left out, or
// one run makes up for all of them.
enum class Missed { kSkip, kOnce };

// Where the times of last runs are kept: nothing is in memory only.
using OpenStore = std::function<Task<Result<std::unique_ptr<store::Records>>>()>;

struct CronParts {
  runtime::EventLoop& loop;
  Bus& bus;
  obs::Metrics& metrics;
  OpenStore open;
};

// Calls functions by the clock: the trigger type `cron`. Triggers of one user with the same function, configuration and metadata are one
// job, which one of them runs. A run begins after its time was recorded, so no time is run twice, not after a crash either; while a run lasts,
// the next ones of its job are left out. Loop thread only.
class Cron final : public Module, public TriggerProvider {
 public:
  Cron(CronParts parts, Missed missed);
  ~Cron() override;

  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

 private:
  struct Job {
    std::string key;
    std::string tenant;  // whose it is
    Expression expression;
    std::string zone;
    Missed missed;
    std::vector<BoundTriggerPtr> triggers = {};
    std::optional<UnixMs> due = std::nullopt;
    bool running = false;
  };
  using JobPtr = std::shared_ptr<Job>;

  Task<Result<>> load();
  Result<JobPtr> make_job(const BoundTrigger& trigger, std::string key) const;
  UnixMs settled(const Job& job) const;
  void schedule(const JobPtr& job, UnixMs after);
  void unschedule(Job& job);
  void set_timer();
  void run_due();
  void come_due(const JobPtr& job, UnixMs now);
  Task<> run(JobPtr job, UnixMs scheduled, UnixMs settled_until);
  Task<> call(JobPtr job, UnixMs scheduled);
  Task<> keep(std::string key, UnixMs until);
  Task<Result<>> settle(std::string key, UnixMs until);
  void forget_if_done(const JobPtr& job);

  CronParts parts_;
  const Missed missed_;
  std::unique_ptr<store::Records> records_;
  std::map<std::string, JobPtr> jobs_;     // by key
  std::map<std::string, size_t> of_user_;  // how many of them, by tenant
  std::multimap<UnixMs, JobPtr> due_;      // their next runs
  std::map<std::string, UnixMs> settled_;  // by key: until when a job's runs are done or left out
  std::optional<runtime::TimerId> timer_;
  bool stopped_ = false;
  runtime::TaskGroup tasks_;
  obs::Counter& ok_;
  obs::Counter& failed_;
  obs::Counter& skipped_;
};

// "modules::cron::CronModule", "iii-cron"
ModuleKind kind();

}  // namespace chela::bus::cron
