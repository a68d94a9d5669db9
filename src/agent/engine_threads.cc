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

obs::Counter* prefix_counter(obs::Metrics& metrics, turn::Prefix prefix) {
  return &metrics.counter(
      "chela_prompt_prefix_total",
      "Model calls of turns, by whether their prompt begins as the call before on the thread ended",
      {{"prefix", std::string(turn::prefix_name(prefix))}});
}

constexpr size_t kLogPage = 1000;

bool ends_turn(const store::LogRecord& record) {
  return record.kind == "TurnFinished" || record.kind == "TurnFailed" || record.kind == "Interrupted";
}

}  // namespace

std::unique_ptr<Engine> make_engine(Dependencies dependencies) {
  return std::make_unique<EngineImpl>(std::move(dependencies));
}

EngineImpl::EngineImpl(Dependencies dependencies)
    : d_(std::move(dependencies)),
      hub_(d_.loop, d_.log, d_.settings.max_subscribers),
      prompts_(d_.tools, d_.blobs),
      tasks_(d_.loop),
      slots_(d_.loop, d_.settings.max_running_turns),
      threads_(d_.settings.max_loaded_threads, [this](const Scope& scope) { end_session(scope); }),
      keeping_(d_.loop),
      first_threads_(d_.loop),
      turns_started_(d_.metrics.counter("chela_turns_started_total", "Turns started")),
      turns_completed_(
          d_.metrics.counter("chela_turns_total", "Turns ended, by state", {{"state", "completed"}})),
      turns_failed_(d_.metrics.counter("chela_turns_total", "Turns ended, by state", {{"state", "failed"}})),
      turns_interrupted_(
          d_.metrics.counter("chela_turns_total", "Turns ended, by state", {{"state", "interrupted"}})),
      late_results_(d_.metrics.counter("chela_late_results_total",
                                       "Results that came after their turn had ended, dropped")),
      prefix_calls_{prefix_counter(d_.metrics, turn::Prefix::kFirst),
                    prefix_counter(d_.metrics, turn::Prefix::kKept),
                    prefix_counter(d_.metrics, turn::Prefix::kChanged)},
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

void EngineImpl::configure(EngineSettings settings) {
  d_.settings.max_iterations = settings.max_iterations;
  d_.settings.busy = settings.busy;
  d_.settings.max_message_bytes = settings.max_message_bytes;
  d_.settings.max_subscribers = settings.max_subscribers;
  hub_.set_max_subscribers(settings.max_subscribers);
}

// The thread of this user with the id, in memory. Its state is loaded under its mutex.
Task<Result<ThreadPtr>> EngineImpl::open_thread(Scope scope, std::string id) {
  const auto missing = [&id] { return fail(Code::kNotFound, "there is no thread '{}'", id); };
  ThreadPtr thread = threads_.find(id);
  if (thread == nullptr) {
    Result<store::ThreadRow> row = co_await d_.log.thread(scope, id);
    if (!row) co_return row.error().code == Code::kNotFound ? missing() : fail(row.error());
    thread = std::make_shared<Thread>(d_.loop);
    thread->row = std::move(*row);
    thread = threads_.add(std::move(thread));  // another may have come meanwhile
  }
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
  threads_.drop_idle();
  co_return thread;
}

// The thread of a channel's own name for it.
Task<Result<ThreadPtr>> EngineImpl::open_named(Scope scope, std::string channel, std::string external) {
  ThreadPtr thread = threads_.find_named(scope, channel, external);
  if (thread == nullptr) {
    const Result<std::optional<store::ThreadRow>> row =
        co_await d_.log.thread_by_key(scope, channel, external);
    if (!row) co_return fail(row.error());
    if (*row) co_return co_await open_thread(scope, (*row)->id);
    thread = threads_.find_named(scope, channel, external);  // another message may have begun it meanwhile
  }
  if (thread == nullptr) thread = new_draft(scope, channel, external);
  co_return co_await open_thread(scope, thread->row.id);
}

ThreadPtr EngineImpl::new_draft(const Scope& scope, const std::string& channel, const std::string& external) {
  const UnixMs now = d_.loop.clock().now();
  auto thread = std::make_shared<Thread>(d_.loop);
  thread->row = {.id = d_.ids.next(),
                 .scope = scope,
                 .channel = channel,
                 .external_thread = external,
                 .title = {},
                 .open_turn = {},
                 .transcript_hash = {},
                 .created_at = now,
                 .updated_at = now};
  thread->draft = true;
  thread->loaded = true;
  thread->last_used = ++use_counter_;
  return threads_.add(std::move(thread));
}

Result<ThreadDraft> EngineImpl::draft_thread(Scope scope, std::string channel) {
  scope = normalised(std::move(scope));
  if (const Result<AgentSpec> spec = spec_of(scope.agent); !spec) return fail(spec.error());
  ThreadPtr thread = new_draft(scope, channel, "");
  threads_.drop_idle();
  const std::string& id = thread->row.id;
  return ThreadDraft{id, std::move(thread)};
}

// All records of a thread up to `until` (0 = all), those of the threads it was forked from first.
Task<Result<std::vector<store::LogRecord>>> EngineImpl::whole_log(Scope scope, std::string id,
                                                                  std::int64_t until) {
  std::vector<std::vector<store::LogRecord>> logs;  // the thread's own first, then that of its source, ...
  while (true) {
    if (logs.size() > kMaxForkDepth)
      co_return fail(Code::kUnprocessable, "the thread was forked more than {} times", kMaxForkDepth);
    std::vector<store::LogRecord>& records = logs.emplace_back();
    std::int64_t after = 0;
    while (true) {
      Result<std::vector<store::LogRecord>> page = co_await d_.log.read_thread(scope, id, after, kLogPage);
      if (!page) co_return fail(page.error());
      const bool last = page->size() < kLogPage || (until > 0 && page->back().seq >= until);
      if (!last) after = page->back().seq;
      for (store::LogRecord& record : *page) {
        if (until > 0 && record.seq > until) break;
        records.push_back(std::move(record));
      }
      if (last) break;
    }
    if (records.empty() || records.front().kind != "Forked") break;
    const Result<turn::Input> first = turn::from_body("Forked", records.front().body);
    if (!first) co_return fail(first.error());
    const auto& forked = std::get<turn::Forked>(*first);
    id = forked.from;
    until = forked.at;
  }
  std::vector<store::LogRecord> whole;
  for (auto log = logs.rbegin(); log != logs.rend(); ++log)
    whole.insert(whole.end(), std::make_move_iterator(log->begin()), std::make_move_iterator(log->end()));
  co_return whole;
}

Result<turn::State> EngineImpl::fold(const std::vector<store::LogRecord>& records) {
  turn::State state;
  for (const store::LogRecord& record : records) {
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) return fail(input.error());
    state = turn::advance(std::move(state), std::move(*input)).state;
  }
  return state;
}

Task<Result<>> EngineImpl::load(ThreadPtr thread) {
  const Result<std::vector<store::LogRecord>> records =
      co_await whole_log(thread->row.scope, thread->row.id, 0);
  if (!records) co_return fail(records.error());
  Result<turn::State> state = fold(*records);
  if (!state) co_return fail(state.error());
  if (!records->empty()) thread->row.last_seq = records->back().seq;
  thread->state = std::move(*state);
  thread->loaded = true;
  co_return Result<>{};
}

namespace {

// Records of the thread itself belong to no turn.
std::string turn_of(const turn::State& state, const turn::Input& input) {
  if (const auto* started = std::get_if<turn::TurnStarted>(&input)) return started->turn;
  const bool running = state.phase != turn::Phase::kIdle;
  return running || std::holds_alternative<turn::Steered>(input) ? state.start.turn : "";
}

}  // namespace

// Applies the input to the state and hands its record to the store. The order of calls is the order of the log; the state runs ahead of
// the disk, so whoever lets something out waits for the returned completion first when the record is a barrier.
EngineImpl::Durable EngineImpl::append(ThreadPtr thread, turn::Input input, store::Durability durability,
                                       AppendExtras extras) {
  std::vector<turn::Input> one;
  one.push_back(std::move(input));
  return append_all(std::move(thread), std::move(one), durability, std::move(extras));
}

// Several inputs in one step: all of their records are written, or none.
EngineImpl::Durable EngineImpl::append_all(ThreadPtr thread, std::vector<turn::Input> inputs,
                                           store::Durability durability, AppendExtras extras) {
  const Durable done(d_.loop);
  if (thread->broken) {
    done.resolve(fail(*thread->broken));
    return done;
  }
  store::AppendRequest request{.scope = thread->row.scope,
                               .thread = thread->row.id,
                               .records = {},
                               .durability = durability,
                               .at = d_.loop.clock().now(),
                               .open_turn = std::move(extras.open_turn),
                               .title = std::move(extras.title),
                               .add_turns = extras.add_turns,
                               .idempotency = std::move(extras.idempotency)};
  if (std::exchange(thread->draft, false)) request.create = thread->row;
  if (!inputs.empty()) {
    ++thread->changes;
    if (thread->summary) thread->summary->request_stop();
  }
  for (turn::Input& input : inputs) {
    std::string kind(turn::kind_of(input));
    crash_point(kind, CrashSide::kBefore);
    if (std::optional<store::UsageAdd> used = count(input, thread->state))
      request.usage.push_back(std::move(*used));
    request.records.push_back({turn_of(thread->state, input), std::move(kind), turn::to_body(input)});
    thread->state = turn::advance(std::move(thread->state), std::move(input)).state;
  }
  if (thread->state.transcript != thread->row.transcript_hash) {
    thread->row.transcript_hash = thread->state.transcript;
    request.transcript_hash = thread->state.transcript;
  }
  if (request.open_turn) thread->row.open_turn = *request.open_turn;
  if (request.title) thread->row.title = *request.title;
  thread->row.turn_count += request.add_turns;
  thread->row.updated_at = request.at;
  tasks_.spawn(write(thread, std::move(request), done));
  return done;
}

Task<> EngineImpl::write(ThreadPtr thread, store::AppendRequest request, Durable done) {
  const Scope scope = request.scope;
  const Result<store::Appended> appended = co_await d_.log.append(std::move(request));
  if (!appended) {
    if (!thread->broken) thread->broken = appended.error();
    thread->stop.request_stop();  // what still runs for it is of no use any more
    threads_.remove(thread);
    done.resolve(fail(appended.error()));
    co_return;
  }
  for (const store::LogRecord& record : appended->records) crash_point(record.kind, CrashSide::kAfter);
  if (!appended->records.empty()) {
    thread->row.last_seq = std::max(thread->row.last_seq, appended->records.back().seq);
    hub_.publish(scope, appended->records);
    const auto ended = std::find_if(appended->records.begin(), appended->records.end(), ends_turn);
    if (ended != appended->records.end() && d_.on_turn_end)
      d_.on_turn_end(scope, thread->row.id, ended->turn);
  }
  done.resolve(Result<>{});
}

// The first turn of any of a session's threads begins it.
void EngineImpl::begin_session(const ThreadPtr& thread) {
  if (stopping_) return;
  const auto [entry, is_new] = sessions_.try_emplace(session_key(thread->row.scope));
  if (!is_new) return;
  entry->second = d_.ids.next();
  tell_hooks(hooks::Point::kOnSessionStart, {.user_id = thread->row.scope.user,
                                             .channel = thread->row.channel,
                                             .thread_id = thread->row.id,
                                             .session_id = entry->second});
}

void EngineImpl::end_session(const Scope& scope) {
  const auto found = sessions_.find(session_key(scope));
  if (found == sessions_.end()) return;
  hooks::Event event{.user_id = scope.user, .session_id = std::move(found->second)};
  sessions_.erase(found);
  tell_hooks(hooks::Point::kOnSessionEnd, std::move(event));
}

namespace {

Task<> run_hooks(hooks::Chain& hooks, hooks::Point point, hooks::Event event) {
  (void)co_await hooks.run(point, std::move(event),
                           {});  // at these points there is nothing to change or reject
}

}  // namespace

// The work goes on meanwhile: hooks of sessions only listen.
void EngineImpl::tell_hooks(hooks::Point point, hooks::Event event) {
  if (d_.hooks.any(point)) tasks_.spawn(run_hooks(d_.hooks, point, std::move(event)));
}

ThreadInfo EngineImpl::info_of(const store::ThreadRow& row, const turn::State* state) {
  std::string status = row.open_turn.empty() ? "Idle" : "Processing";
  if (state != nullptr && state->phase == turn::Phase::kIdle) status = "Idle";
  if (state != nullptr && turn::pending_approval(*state) != nullptr) status = "AwaitingApproval";
  if (state != nullptr && turn::pending_credential(*state) != nullptr) status = "AwaitingAuth";
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
  const Result<> active = co_await make_active(scope, channel, created->id);
  if (!active) co_return fail(active.error());
  co_return info_of(*created, nullptr);
}

// The thread that messages of the channel go to when they name none. The write is queued at once.
Task<Result<>> EngineImpl::make_active(Scope scope, std::string channel, std::string id) {
  scope = normalised(std::move(scope));
  const std::string key = fmt::format("active_thread:{}:{}", scope.agent, channel);
  return d_.settings_store.set(std::move(scope), key, json::write(id), d_.loop.clock().now());
}

Task<Result<std::optional<std::string>>> EngineImpl::chosen_thread(Scope scope, std::string channel) {
  scope = normalised(std::move(scope));
  const auto stored =
      co_await d_.settings_store.get(scope, fmt::format("active_thread:{}:{}", scope.agent, channel));
  if (!stored) co_return fail(stored.error());
  const Result<json::Value> value = json::parse(stored->value_or("null"));
  const std::string* id = value ? value->as_string() : nullptr;
  if (id == nullptr) co_return std::nullopt;
  if (threads_.find(*id) != nullptr) co_return *id;
  // It is set in the commit that makes the thread, which may have failed to.
  const Result<store::ThreadRow> row = co_await d_.log.thread(scope, *id);
  if (row) co_return *id;
  if (row.error().code != Code::kNotFound) co_return fail(row.error());
  co_return std::nullopt;
}

Task<Result<std::string>> EngineImpl::active_thread(Scope scope, std::string channel) {
  // Two first messages of a channel come to one thread: the second finds what the first has made.
  std::optional<runtime::Mutex::Guard> guard;
  while (true) {
    const Result<std::optional<std::string>> chosen = co_await chosen_thread(scope, channel);
    if (!chosen) co_return fail(chosen.error());
    if (*chosen) co_return **chosen;
    if (guard) break;
    guard.emplace(co_await first_threads_.lock());
  }
  const Result<ThreadInfo> created = co_await create_thread(std::move(scope), std::move(channel), "");
  if (!created) co_return fail(created.error());
  co_return created->id;
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
      if (call.status == turn::CallStatus::kNeedsCredential) watch_credential(thread, call.credential);
      if (call.status == turn::CallStatus::kWithClient)
        with_client_[client_call_key(row.scope, call.request.id)] = row.id;
    }
    watch(thread, state.start.turn);
    wake_turn(thread);
  }
  co_return Result<>{};
}

Task<> EngineImpl::stop() {
  stopping_ = true;
  leaving_.request_stop();
  while (!credentials_.empty()) forget_credential(std::string(credentials_.begin()->first));
  hub_.close();
  for (const auto& [id, thread] : threads_) thread->stop.request_stop();
  for (auto& [turn, entry] : watches_) {
    for (const runtime::Completion<bool>& waiter : std::exchange(entry.waiters, {})) waiter.resolve(false);
  }
  std::vector<Scope> users;
  for (const auto& [id, thread] : threads_) users.push_back(thread->row.scope);
  for (const Scope& scope : users) end_session(scope);
  co_await tasks_.join();
}

}  // namespace chela::agent
