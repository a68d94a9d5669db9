#include <algorithm>

#include "agent/crash_point.h"
#include "agent/engine_impl.h"
#include "agent/make_engine.h"
#include "agent/turn/records.h"
#include "agent/turn/transcript.h"
#include "obs/log.h"

// Threads in memory and their log.
namespace chela::agent {
namespace {

constexpr size_t kLogPage = 1000;

}  // namespace

std::unique_ptr<Engine> make_engine(Dependencies dependencies) {
  return std::make_unique<EngineImpl>(std::move(dependencies));
}

EngineImpl::EngineImpl(Dependencies dependencies)
    : d_(std::move(dependencies)),
      hub_(d_.loop, d_.log, d_.settings.max_subscribers),
      tasks_(d_.loop),
      slots_(d_.loop, d_.settings.max_running_turns),
      turns_started_(d_.metrics.counter("chela_turns_started_total", "Turns started")),
      turns_completed_(
          d_.metrics.counter("chela_turns_total", "Turns ended, by state", {{"state", "completed"}})),
      turns_failed_(d_.metrics.counter("chela_turns_total", "Turns ended, by state", {{"state", "failed"}})),
      turns_interrupted_(
          d_.metrics.counter("chela_turns_total", "Turns ended, by state", {{"state", "interrupted"}})),
      late_results_(d_.metrics.counter("chela_late_results_total",
                                       "Results that came after their turn had ended, dropped")),
      turn_seconds_(d_.metrics.histogram("chela_turn_seconds", "Time from a turn's input to its end")) {}

EngineImpl::~EngineImpl() = default;

Scope EngineImpl::normalised(Scope scope) const {
  if (scope.agent.empty()) scope.agent = kDefaultAgent;
  return scope;
}

Result<AgentSpec> EngineImpl::spec_of(const std::string& agent) const {
  for (const AgentSpec& spec : d_.agents) {
    if (spec.name == agent) return spec;
  }
  if (agent == kDefaultAgent) return AgentSpec{.name = std::string(kDefaultAgent)};
  return fail(Code::kNotFound, "there is no agent '{}'; `chela agents` lists those there are", agent);
}

std::vector<std::string> EngineImpl::agents() const {
  std::set<std::string> names{std::string(kDefaultAgent)};
  for (const AgentSpec& spec : d_.agents) names.insert(spec.name);
  return {names.begin(), names.end()};
}

// The thread of this user with the id, in memory. Its state is loaded under its mutex.
Task<Result<ThreadPtr>> EngineImpl::open_thread(Scope scope, std::string id) {
  const auto missing = [&id] { return fail(Code::kNotFound, "there is no thread '{}'", id); };
  auto found = threads_.find(id);
  if (found == threads_.end()) {
    Result<store::ThreadRow> row = co_await d_.log.thread(scope, id);
    if (!row) co_return row.error().code == Code::kNotFound ? missing() : fail(row.error());
    found = threads_.find(id);
    if (found == threads_.end()) {
      auto thread = std::make_shared<Thread>(d_.loop);
      thread->row = std::move(*row);
      found = threads_.emplace(id, std::move(thread)).first;
    }
  }
  ThreadPtr thread = found->second;
  if (thread->row.scope.realm != scope.realm || thread->row.scope.user != scope.user) co_return missing();
  thread->last_used = ++use_counter_;
  if (!thread->loaded) {
    const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
    if (!thread->loaded) {
      // One that cannot be read stays as it is, for the next try: there is only ever one object of a thread.
      const Result<> loaded = co_await load(thread);
      if (!loaded) co_return fail(loaded.error());
    }
  }
  forget_idle_threads();
  co_return thread;
}

// All records of a thread up to `until` (0 = all), those of the thread it was forked from first.
Task<Result<std::vector<store::LogRecord>>> EngineImpl::whole_log(Scope scope, std::string id,
                                                                  std::int64_t until) {
  std::vector<store::LogRecord> records;
  std::int64_t after = 0;
  while (true) {
    Result<std::vector<store::LogRecord>> page = co_await d_.log.read_thread(scope, id, after, kLogPage);
    if (!page) co_return fail(page.error());
    for (store::LogRecord& record : *page) {
      if (until > 0 && record.seq > until) break;
      records.push_back(std::move(record));
    }
    if (page->size() < kLogPage || (until > 0 && page->back().seq >= until)) break;
    after = page->back().seq;
  }
  if (records.empty() || records.front().kind != "Forked") co_return records;
  const Result<turn::Input> first = turn::from_body("Forked", records.front().body);
  if (!first) co_return fail(first.error());
  const auto& forked = std::get<turn::Forked>(*first);
  Result<std::vector<store::LogRecord>> before = co_await whole_log(scope, forked.from, forked.at);
  if (!before) co_return fail(before.error());
  before->insert(before->end(), std::make_move_iterator(records.begin()),
                 std::make_move_iterator(records.end()));
  co_return before;
}

Task<Result<>> EngineImpl::load(ThreadPtr thread) {
  Result<std::vector<store::LogRecord>> records = co_await whole_log(thread->row.scope, thread->row.id, 0);
  if (!records) co_return fail(records.error());
  turn::State state;
  for (const store::LogRecord& record : *records) {
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) co_return fail(input.error());
    state = turn::advance(std::move(state), std::move(*input)).state;
    if (record.thread == thread->row.id) thread->row.last_seq = record.seq;
  }
  thread->state = std::move(state);
  thread->loaded = true;
  co_return Result<>{};
}

// Applies the input to the state and hands its record to the store. The order of calls is the order of the log; the state runs ahead of
// the disk, so whoever lets something out waits for the returned completion first when the record is a barrier.
EngineImpl::Durable EngineImpl::append(ThreadPtr thread, turn::Input input, store::Durability durability,
                                       AppendExtras extras) {
  const Durable done(d_.loop);
  if (thread->broken) {
    done.resolve(fail(*thread->broken));
    return done;
  }
  std::string kind(turn::kind_of(input));
  std::string body = turn::to_body(input);
  const auto* started = std::get_if<turn::TurnStarted>(&input);
  std::string turn_id = started != nullptr ? started->turn : thread->state.start.turn;
  if (kind == "Forked") turn_id.clear();
  crash_point(kind, CrashSide::kBefore);
  thread->state = turn::advance(std::move(thread->state), std::move(input)).state;

  store::AppendRequest request{.scope = thread->row.scope,
                               .thread = thread->row.id,
                               .records = {{std::move(turn_id), kind, std::move(body)}},
                               .durability = durability,
                               .at = d_.loop.clock().now(),
                               .open_turn = std::move(extras.open_turn),
                               .title = std::move(extras.title),
                               .add_turns = extras.add_turns,
                               .idempotency = std::move(extras.idempotency)};
  if (thread->state.transcript != thread->row.transcript_hash) {
    thread->row.transcript_hash = thread->state.transcript;
    request.transcript_hash = thread->state.transcript;
  }
  if (request.open_turn) thread->row.open_turn = *request.open_turn;
  if (request.title) thread->row.title = *request.title;
  thread->row.turn_count += request.add_turns;
  thread->row.updated_at = request.at;
  tasks_.spawn(write(thread, std::move(request), std::move(kind), done));
  return done;
}

Task<> EngineImpl::write(ThreadPtr thread, store::AppendRequest request, std::string kind, Durable done) {
  const Scope scope = request.scope;
  const Result<store::Appended> appended = co_await d_.log.append(std::move(request));
  if (!appended) {
    if (!thread->broken) thread->broken = appended.error();
    thread->stop.request_stop();  // what still runs for it is of no use any more
    const auto found = threads_.find(thread->row.id);
    if (found != threads_.end() && found->second == thread) threads_.erase(found);
    done.resolve(fail(appended.error()));
    co_return;
  }
  crash_point(kind, CrashSide::kAfter);
  thread->row.last_seq = std::max(thread->row.last_seq, appended->records.back().seq);
  hub_.publish(scope, appended->records);
  done.resolve(Result<>{});
}

// Drops the threads longest unused, so that memory stays flat however many there are. What sleeps in the store needs no memory.
void EngineImpl::forget_idle_threads() {
  if (threads_.size() <= d_.settings.max_loaded_threads) return;
  std::vector<std::pair<std::int64_t, std::string>> idle;
  for (const auto& [id, thread] : threads_) {
    if (thread.use_count() == 1 && !thread->working) idle.emplace_back(thread->last_used, id);
  }
  std::sort(idle.begin(), idle.end());
  // A quarter at a time: the walk over all threads is then rare.
  const size_t drop = std::min(idle.size(), threads_.size() - d_.settings.max_loaded_threads * 3 / 4);
  for (size_t i = 0; i < drop; ++i) threads_.erase(idle[i].second);
}

ThreadInfo EngineImpl::info_of(const store::ThreadRow& row, const turn::State* state) {
  std::string status = row.open_turn.empty() ? "Idle" : "Processing";
  if (state != nullptr && state->phase == turn::Phase::kIdle) status = "Idle";
  if (state != nullptr && turn::pending_approval(*state) != nullptr) status = "AwaitingApproval";
  return {row.id, row.scope.agent, row.channel,    row.external_thread, row.title,
          status, row.turn_count,  row.created_at, row.updated_at};
}

Task<Result<ThreadInfo>> EngineImpl::create_thread(Scope scope, std::string channel,
                                                   std::string external_thread) {
  scope = normalised(std::move(scope));
  const Result<AgentSpec> spec = spec_of(scope.agent);
  if (!spec) co_return fail(spec.error());
  const UnixMs now = d_.loop.clock().now();
  store::ThreadRow row{.id = d_.ids.next(),
                       .scope = scope,
                       .channel = channel,
                       .external_thread = std::move(external_thread),
                       .title = {},
                       .open_turn = {},
                       .transcript_hash = {},
                       .created_at = now,
                       .updated_at = now};
  const Result<store::ThreadRow> created = co_await d_.log.ensure_thread(std::move(row));
  if (!created) co_return fail(created.error());
  const Result<> active = co_await d_.settings_store.set(
      scope, fmt::format("active_thread:{}:{}", scope.agent, channel), json::write(created->id), now);
  if (!active) co_return fail(active.error());
  co_return info_of(*created, nullptr);
}

Task<Result<std::string>> EngineImpl::active_thread(Scope scope, std::string channel) {
  scope = normalised(std::move(scope));
  const auto stored =
      co_await d_.settings_store.get(scope, fmt::format("active_thread:{}:{}", scope.agent, channel));
  if (!stored) co_return fail(stored.error());
  if (*stored) {
    const Result<json::Value> id = json::parse(**stored);
    if (id && id->as_string() != nullptr) co_return *id->as_string();
  }
  const Result<ThreadInfo> created = co_await create_thread(scope, channel, "");
  if (!created) co_return fail(created.error());
  co_return created->id;
}

Task<Result<std::vector<ThreadInfo>>> EngineImpl::threads(Scope scope, std::size_t limit) {
  const Result<std::vector<store::ThreadRow>> rows = co_await d_.log.threads(scope, limit);
  if (!rows) co_return fail(rows.error());
  std::vector<ThreadInfo> infos;
  for (const store::ThreadRow& row : *rows) {
    const auto loaded = threads_.find(row.id);
    infos.push_back(
        info_of(row, loaded != threads_.end() && loaded->second->loaded ? &loaded->second->state : nullptr));
  }
  co_return infos;
}

Task<Result<std::unique_ptr<Subscription>>> EngineImpl::subscribe(Scope scope, std::string thread_id,
                                                                  std::string last_event_id) {
  if (!thread_id.empty()) {
    const Result<ThreadPtr> thread = co_await open_thread(scope, thread_id);
    if (!thread) co_return fail(thread.error());
  }
  co_return co_await hub_.subscribe(std::move(scope), std::move(thread_id), std::move(last_event_id));
}

Task<Result<std::optional<std::string>>> EngineImpl::find_transcript(Scope scope,
                                                                     std::vector<llm::Message> messages) {
  scope = normalised(std::move(scope));
  const std::string hash = turn::transcript_of(messages);
  if (hash.empty()) co_return std::optional<std::string>();
  const auto row = co_await d_.log.thread_by_transcript(scope, "v1", hash);
  if (!row) co_return fail(row.error());
  co_return *row ? std::optional<std::string>((*row)->id) : std::nullopt;
}

// Takes up every turn that was open when the engine last stopped. Those that wait for a person or a client go on waiting.
Task<Result<>> EngineImpl::recover() {
  const Result<std::vector<store::ThreadRow>> rows = co_await d_.log.open_threads();
  if (!rows) co_return fail(rows.error());
  for (const store::ThreadRow& row : *rows) {
    const Result<ThreadPtr> opened = co_await open_thread(row.scope, row.id);
    if (!opened) {
      // The others are not to suffer for it; whoever opens this one is told.
      log::error("agent", "an open turn cannot be taken up",
                 {{"thread", row.id}, {"turn", row.open_turn}, {"error", opened.error().text()}});
      continue;
    }
    const ThreadPtr& thread = *opened;
    const turn::State& state = thread->state;
    for (const turn::Steered& waiting : state.queue) watch(thread, waiting.next_turn);
    if (state.phase == turn::Phase::kIdle) {
      tasks_.spawn(start_queued(thread));
      continue;
    }
    thread->repeated_call = state.requested;
    for (const turn::Call& call : state.batch) {
      if (call.status == turn::CallStatus::kAsked) asked_[call.request_id] = row.id;
      if (call.status == turn::CallStatus::kWithClient)
        with_client_[row.scope.realm + '\0' + row.scope.user + '\0' + call.request.id] = row.id;
    }
    watch(thread, state.start.turn);
    wake_turn(thread);
  }
  co_return Result<>{};
}

Task<> EngineImpl::stop() {
  stopping_ = true;
  hub_.close();
  for (const auto& [id, thread] : threads_) thread->stop.request_stop();
  for (auto& [turn, entry] : watches_) {
    for (const runtime::Completion<bool>& waiter : std::exchange(entry.waiters, {})) waiter.resolve(false);
  }
  co_await tasks_.join();
}

}  // namespace chela::agent
