#include "testing/fake_engine.h"

namespace chela::testing {

using agent::Accepted;

class FakeSubscription final : public agent::Subscription {
 public:
  FakeSubscription(FakeEngine& engine, std::shared_ptr<FakeEngine::Feed> feed)
      : engine_(engine), feed_(std::move(feed)) {}
  ~FakeSubscription() override { engine_.feeds_.erase(feed_.get()); }
  Task<std::optional<agent::Event>> next(std::stop_token stop) override {
    return feed_->receive(std::move(stop));
  }
  std::optional<agent::Event> try_next() override { return feed_->try_receive(); }

 private:
  FakeEngine& engine_;
  std::shared_ptr<FakeEngine::Feed> feed_;
};

Result<> FakeEngine::known(const std::string& thread) const {
  if (!known_threads.contains(thread)) return fail(Code::kNotFound, "there is no thread {}", thread);
  return {};
}

Result<Accepted> FakeEngine::start(const std::string& thread) {
  const std::string id = fmt::format("turn-{}", next_turn_++);
  const auto running = std::make_shared<Running>();
  running_[id] = running;
  if (!script.empty()) {
    running->turn = std::move(script.front());
    script.pop_front();
  }
  for (auto& [type, fields] : running->turn.events) {
    json::Value data = json::Value::object({{"type", type}, {"thread_id", thread}, {"turn_id", id}});
    for (const json::Member& member : *fields.as_object()) data.set(member.key, member.value);
    publish({.id = fmt::format("{}.0", next_event_++), .type = type, .data = std::move(data)});
  }
  if (running->turn.end == Turn::End::kAtOnce) {
    end(*running);
  } else {
    held_.push_back(id);
  }
  return Accepted{
      .message_id = fmt::format("message-{}", next_turn_ - 1), .thread_id = thread, .turn_id = id};
}

void FakeEngine::end(Running& running) {
  running.ended = true;
  for (const auto& waiter : std::exchange(running.waiters, {})) waiter.resolve(true);
}

void FakeEngine::release() {
  if (held_.empty()) return;
  end(*running_.at(held_.front()));
  held_.pop_front();
}

void FakeEngine::publish(agent::Event event) {
  for (auto& [key, feed] : feeds_) {
    if (feed.second.empty() || feed.second == event.data.string_or("thread_id")) feed.first->try_send(event);
  }
}

void FakeEngine::cut_off() {
  for (auto& [key, feed] : feeds_) feed.first->close();
}

Task<Result<Accepted>> FakeEngine::send(agent::Inbound inbound) {
  if (refuse) co_return fail(*std::exchange(refuse, std::nullopt));
  std::string thread = inbound.thread_id;
  if (!inbound.client_results.empty()) {
    for (const llm::Message& each : inbound.client_results) {
      if (!client_call_ids.contains(each.tool_call_id))
        co_return fail(Code::kNotFound, "no turn waits for {}", each.tool_call_id);
    }
    results.push_back(inbound.client_results);
    thread = "thread-of-results";
  } else if (thread.empty()) {
    thread = "active-" + inbound.channel;
    known_threads.insert(thread);
  } else if (const Result<> there = known(thread); !there) {
    co_return fail(there.error());
  }
  sent.push_back(std::move(inbound));
  if (command_reply)
    co_return Accepted{
        .message_id = "message-command", .thread_id = thread, .reply = std::exchange(command_reply, {})};
  co_return start(thread);
}

Task<Result<std::optional<std::string>>> FakeEngine::find_transcript(Scope,
                                                                     std::vector<llm::Message> messages) {
  looked_up.push_back(std::move(messages));
  co_return transcript;
}

Task<Result<Accepted>> FakeEngine::retry(Scope, std::string thread_id, std::string, op::Permissions) {
  if (const Result<> there = known(thread_id); !there) co_return fail(there.error());
  retried.push_back(thread_id);
  co_return start(thread_id);
}

Task<Result<Accepted>> FakeEngine::edit(std::int64_t turn_number, agent::Inbound inbound) {
  if (const Result<> there = known(inbound.thread_id); !there) co_return fail(there.error());
  edited.emplace_back(turn_number, std::move(inbound));
  co_return start(fmt::format("edited-{}", turn_number));
}

Task<Result<>> FakeEngine::give_credential(Scope, std::string name, std::string value) {
  if (name != wants_credential) co_return fail(Code::kNotFound, "nothing waits for a credential '{}'", name);
  credentials.emplace_back(std::move(name), std::move(value));
  co_return Result<>{};
}

Task<Result<>> FakeEngine::cancel_credential(Scope scope, std::string name) {
  co_return co_await give_credential(std::move(scope), std::move(name), "");
}

Task<Result<Accepted>> FakeEngine::decide(Scope, std::string request_id, agent::Decision decision,
                                          op::Permissions) {
  if (!pending || pending->request_id != request_id)
    co_return fail(Code::kNotFound, "there is no request {}", request_id);
  decisions.emplace_back(std::move(request_id), decision);
  co_return Accepted{
      .message_id = "message-decision", .thread_id = pending->thread_id, .turn_id = pending->turn_id};
}

Task<Result<>> FakeEngine::recall_turn(Scope, std::string, std::string) { co_return Result<>{}; }

Task<Result<>> FakeEngine::interrupt(Scope, std::string thread_id, std::string) {
  interrupted.push_back(std::move(thread_id));
  co_return Result<>{};
}

Task<Result<agent::TurnOutcome>> FakeEngine::wait(Scope, std::string turn_id, std::stop_token stop) {
  const auto found = running_.find(turn_id);
  if (found == running_.end()) co_return fail(Code::kNotFound, "there is no turn {}", turn_id);
  const std::shared_ptr<Running> running = found->second;
  if (!running->ended) {
    const runtime::Completion<bool> done(loop_);
    running->waiters.push_back(done);
    const std::stop_callback stopped(stop, [done] { done.resolve(false); });
    if (!co_await done) co_return fail(Code::kCancelled, "cancelled");
  }
  co_return running->turn.outcome;
}

Task<Result<agent::TurnOutcome>> FakeEngine::wait_through_approvals(Scope scope, std::string turn_id,
                                                                    std::stop_token stop) {
  ++waited_through_approvals;
  return wait(std::move(scope), std::move(turn_id), std::move(stop));
}

Task<Result<agent::ThreadInfo>> FakeEngine::create_thread(Scope scope, std::string channel,
                                                          std::string external) {
  agent::ThreadInfo info{.id = fmt::format("thread-{}", next_thread_++),
                         .agent = scope.agent,
                         .channel = std::move(channel),
                         .external_thread = std::move(external),
                         .title = {},
                         .state = "Idle"};
  known_threads.insert(info.id);
  co_return info;
}

Result<agent::ThreadDraft> FakeEngine::draft_thread(Scope, std::string) {
  agent::ThreadDraft draft{.id = fmt::format("thread-{}", next_thread_++), .held = nullptr};
  known_threads.insert(draft.id);
  return draft;
}

Task<Result<std::vector<agent::ThreadInfo>>> FakeEngine::threads(Scope, agent::ThreadQuery query) {
  queries.push_back(query);
  std::vector<agent::ThreadInfo> list;
  for (const std::string& id : known_threads) {
    if (list.size() < query.limit)
      list.push_back({.id = id,
                      .agent = "default",
                      .channel = "gateway",
                      .external_thread = {},
                      .title = {},
                      .state = "Idle"});
  }
  co_return list;
}

Task<Result<agent::ThreadInfo>> FakeEngine::assistant_thread(Scope, std::string channel) {
  co_return agent::ThreadInfo{.id = "assistant",
                              .agent = "default",
                              .channel = std::move(channel),
                              .external_thread = std::string(agent::kAssistantThread),
                              .title = {},
                              .state = "Idle"};
}

Task<Result<agent::ThreadInfo>> FakeEngine::activate(Scope, std::string thread) {
  if (const Result<> found = known(thread); !found) co_return fail(found.error());
  active = thread;
  co_return agent::ThreadInfo{.id = thread,
                              .agent = "default",
                              .channel = "gateway",
                              .external_thread = {},
                              .title = {},
                              .state = "Idle"};
}

Task<Result<agent::ThreadInfo>> FakeEngine::rename(Scope, std::string thread, std::string title) {
  if (const Result<> found = known(thread); !found) co_return fail(found.error());
  renamed[thread] = title;
  co_return agent::ThreadInfo{.id = thread,
                              .agent = "default",
                              .channel = "gateway",
                              .external_thread = {},
                              .title = title,
                              .state = "Idle"};
}

Task<Result<std::optional<std::string>>> FakeEngine::chosen_thread(Scope, std::string) { co_return active; }

Task<Result<std::vector<agent::DayUsage>>> FakeEngine::usage(Scope, int) {
  std::vector<agent::DayUsage> days;
  for (const agent::ModelUsage& each : used) days.push_back({.day = 0, .sum = each});
  co_return days;
}

Task<Result<std::string>> FakeEngine::active_thread(Scope, std::string channel) {
  const std::string id = "active-" + channel;
  known_threads.insert(id);
  co_return id;
}

Task<Result<agent::History>> FakeEngine::history(Scope, std::string thread, std::size_t limit,
                                                 std::optional<UnixMs>) {
  if (const Result<> there = known(thread); !there) co_return fail(there.error());
  agent::History out{.thread_id = std::move(thread),
                     .turns = turns,
                     .has_more = turns.size() > limit,
                     .pending_approval = pending};
  if (out.has_more) out.turns.erase(out.turns.begin(), out.turns.end() - static_cast<std::ptrdiff_t>(limit));
  co_return out;
}

Task<Result<std::unique_ptr<agent::Subscription>>> FakeEngine::subscribe(Scope, std::string thread,
                                                                         std::string last) {
  if (feeds_.size() >= max_subscribers) {
    refused_subscriptions.push_back(loop_.clock().steady());
    co_return fail(Code::kRateLimited, "too many event subscribers");
  }
  auto feed = std::make_shared<Feed>(loop_, 512);
  feeds_.emplace(feed.get(), std::pair(feed, thread));
  subscribed.emplace_back(std::move(thread), std::move(last));
  co_return std::make_unique<FakeSubscription>(*this, std::move(feed));
}

Task<Result<json::Value>> FakeEngine::log(Scope, std::string thread, std::int64_t after, std::size_t) {
  if (const Result<> there = known(thread); !there) co_return fail(there.error());
  co_return json::Value::object(
      {{"thread_id", thread},
       {"records",
        json::Value::array({json::Value::object({{"seq", after + 1}, {"kind", "TurnStarted"}})})}});
}

Task<Result<agent::ReplayReport>> FakeEngine::replay(Scope, std::string thread, std::int64_t until) {
  if (const Result<> there = known(thread); !there) co_return fail(there.error());
  co_return agent::ReplayReport{.records = until, .effects = 2, .requests = 1, .differences = {}};
}

Task<Result<agent::ThreadInfo>> FakeEngine::fork(Scope scope, std::string thread, std::int64_t) {
  if (const Result<> there = known(thread); !there) co_return fail(there.error());
  co_return co_await create_thread(std::move(scope), "gateway", "");
}

Task<Result<std::string>> FakeEngine::model(Scope) { co_return used_model; }

Task<Result<>> FakeEngine::use_model(Scope, std::string model) {
  used_model = std::move(model);
  co_return Result<>{};
}

Task<Result<>> FakeEngine::recover() { co_return Result<>{}; }

Task<> FakeEngine::stop() {
  cut_off();
  co_return;
}

}  // namespace chela::testing
