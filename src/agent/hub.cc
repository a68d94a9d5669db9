#include "agent/hub.h"

#include <algorithm>

#include "agent/subscriber.h"

namespace chela::agent {

namespace {

std::string key_of(const Scope& scope) { return scope.realm + '\0' + scope.user; }

// The records that end a turn.
bool ends_turn(std::string_view kind) {
  return kind == "TurnFinished" || kind == "TurnFailed" || kind == "Interrupted";
}

}  // namespace

std::optional<Place> Place::parse(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto record = strings::parse_int<std::int64_t>(text.substr(0, dot));
  const auto delta = strings::parse_int<std::int64_t>(text.substr(dot + 1));
  if (!record || !delta || *record < 0 || *delta < 0) return std::nullopt;
  return Place{*record, *delta};
}

Hub::Hub(runtime::EventLoop& loop, store::TurnLogStore& log, size_t max_subscribers, size_t subscriber_queue,
         size_t ring)
    : loop_(loop),
      log_(log),
      max_subscribers_(max_subscribers),
      subscriber_queue_(subscriber_queue),
      ring_(ring) {}

Hub::~Hub() { close(); }

Hub::User& Hub::user(const Scope& scope) {
  std::unique_ptr<User>& slot = users_[key_of(scope)];
  if (!slot) slot = std::make_unique<User>();
  return *slot;
}

void Hub::drop_idle(const Scope& scope) {
  const auto found = users_.find(key_of(scope));
  if (found != users_.end() && found->second->subscribers.empty() && found->second->calls.empty())
    users_.erase(found);
}

void Hub::publish(const Scope& scope, const std::vector<store::LogRecord>& records) {
  const auto found = users_.find(key_of(scope));
  if (found == users_.end()) return;
  User& user = *found->second;
  for (const store::LogRecord& record : records) {
    user.place = {record.pos, 0};
    const std::vector<MappedEvent> events =
        user.subscribers.empty() ? std::vector<MappedEvent>() : events_of(record);
    for (Subscriber* subscriber : user.subscribers) {
      if (!subscriber->wants(record.thread)) continue;
      if (subscriber->live()) {
        subscriber->push(record, events);
      } else {
        subscriber->missed(record);
      }
    }
    follow_calls(user, record);
  }
  drop_idle(scope);
}

void Hub::announce(const Scope& scope, const std::string& thread, MappedEvent event) {
  const auto found = users_.find(key_of(scope));
  if (found == users_.end()) return;
  for (Subscriber* subscriber : found->second->subscribers) {
    if (subscriber->live() && subscriber->wants(thread)) subscriber->push(event);
  }
}

// What a published record means for the model calls of its thread.
void Hub::follow_calls(User& user, const store::LogRecord& record) {
  const auto found = user.calls.find(record.thread);
  if (found == user.calls.end()) return;
  std::deque<Call>& calls = found->second;
  if (ends_turn(record.kind)) {
    std::erase_if(calls, [&record](const Call& call) { return call.turn == record.turn; });
  } else if (record.kind == "ModelAnswered") {
    if (!calls.empty() && calls.front().shown) calls.pop_front();
  } else if (record.kind == "ModelRequested") {
    if (!calls.empty() && !calls.front().shown) show(user, calls.front(), record);
    if (!calls.empty() && calls.front().given_up) calls.pop_front();
  } else if (!calls.empty() && calls.front().shown) {
    calls.front().thread_place = {record.seq, 0};
  }
  if (calls.empty()) user.calls.erase(found);
}

// The call's record is out: so may be the text that has come meanwhile.
void Hub::show(User& user, Call& call, const store::LogRecord& record) {
  call.shown = true;
  std::int64_t n = call.count - static_cast<std::int64_t>(call.ring.size());
  const bool lost = n > 0;
  if (lost) {
    call.dropped_in_user = {record.pos, n};
    call.dropped_in_thread = {record.seq, n};
  }
  for (Call::Kept& kept : call.ring) {
    ++n;
    kept.in_user = {record.pos, n};
    kept.in_thread = {record.seq, n};
  }
  user.place = {record.pos, n};
  call.thread_place = {record.seq, n};
  for (Subscriber* subscriber : user.subscribers) {
    if (lost && subscriber->live() && subscriber->wants(call.thread)) subscriber->reset();
    for (const Call::Kept& kept : call.ring) {
      if (!lost && subscriber->live() && subscriber->wants(call.thread)) subscriber->push(kept);
    }
  }
}

void Hub::keep(User& user, Call& call, MappedEvent event) {
  ++call.count;
  if (call.shown) {
    ++user.place.delta;
    ++call.thread_place.delta;
  }
  call.ring.push_back({user.place, call.thread_place, std::move(event)});
  if (call.ring.size() > ring_) {
    if (call.shown) {
      call.dropped_in_user = call.ring.front().in_user;
      call.dropped_in_thread = call.ring.front().in_thread;
    }
    call.ring.pop_front();
  }
  for (Subscriber* subscriber : user.subscribers) {
    if (!subscriber->live() || !subscriber->wants(call.thread)) continue;
    if (call.shown) {
      subscriber->push(call.ring.back());
    } else if (!std::exchange(call.hurried, true)) {
      log_.commit_soon();  // somebody waits for the first words, and their place is that of the call's record
    }
  }
}

void Hub::begin_call(const Scope& scope, const std::string& thread, const std::string& turn,
                     Attempt attempt) {
  User& owner = user(scope);
  Call& call = owner.calls[thread].emplace_back(Call{.thread = thread, .turn = turn});
  if (attempt == Attempt::kRepeated) keep(owner, call, {"stream_reset", reset_data(thread, turn, "")});
}

void Hub::delta(const Scope& scope, const std::string& thread, const std::string& text) {
  User& owner = user(scope);
  const auto found = owner.calls.find(thread);
  if (found == owner.calls.end() || text.empty()) return;
  Call& call = found->second.back();
  call.text += text;
  json::Value data = event_data("stream_chunk", thread, call.turn);
  data.set("content", text);
  keep(owner, call, {"stream_chunk", std::move(data)});
}

void Hub::reset_call(const Scope& scope, const std::string& thread) {
  User& owner = user(scope);
  const auto found = owner.calls.find(thread);
  if (found == owner.calls.end() || found->second.back().text.empty()) return;
  Call& call = found->second.back();
  call.text.clear();
  keep(owner, call, {"stream_reset", reset_data(thread, call.turn, "")});
}

void Hub::end_call(const Scope& scope, const std::string& thread) {
  const auto found = users_.find(key_of(scope));
  if (found == users_.end()) return;
  const auto calls = found->second->calls.find(thread);
  if (calls == found->second->calls.end()) return;
  if (calls->second.back().shown) {
    calls->second.pop_back();
    if (calls->second.empty()) found->second->calls.erase(calls);
  } else {
    calls->second.back().given_up = true;
  }
  drop_idle(scope);
}

void Hub::forget_calls(const Scope& scope, const std::string& thread) {
  const auto found = users_.find(key_of(scope));
  if (found == users_.end()) return;
  found->second->calls.erase(thread);
  drop_idle(scope);
}

namespace {

Failure stopping() { return fail(Code::kUnavailable, "the engine is stopping"); }

}  // namespace

Task<Result<std::unique_ptr<Subscription>>> Hub::subscribe(Scope scope, std::string thread,
                                                           std::string last_event_id) {
  User* owner = &user(scope);
  if (owner->subscribers.size() >= max_subscribers_) {
    co_return fail(Code::kRateLimited, "{} event subscribers are connected already; close one first",
                   max_subscribers_);
  }
  auto subscriber = std::make_unique<Subscriber>(*this, *owner, scope, thread);
  if (last_event_id.empty()) co_return std::unique_ptr<Subscription>(std::move(subscriber));

  const std::optional<Place> place = Place::parse(last_event_id);
  // What is published from here on is found in the log.
  if (place) subscriber->resume_from(*place);
  std::int64_t newest = 0;
  if (place && thread.empty()) {
    const Result<std::int64_t> pos = co_await log_.last_pos(scope);
    if (!pos) co_return fail(pos.error());
    newest = *pos;
    if (subscriber->closed()) co_return stopping();
    owner->place = std::max(owner->place, Place{newest, 0});
  } else if (place) {
    const Result<store::ThreadRow> row = co_await log_.thread(scope, thread);
    if (!row) co_return fail(row.error());
    newest = row->last_seq;
    if (subscriber->closed()) co_return stopping();
  }
  if (!place || place->record > newest) subscriber->reset();
  co_return std::unique_ptr<Subscription>(std::move(subscriber));
}

void Hub::close() {
  for (auto& [key, owner] : users_) {
    for (Subscriber* subscriber : owner->subscribers) subscriber->close();
  }
  users_.clear();
}

size_t Hub::subscribers() const {
  size_t count = 0;
  for (const auto& [key, owner] : users_) count += owner->subscribers.size();
  return count;
}

}  // namespace chela::agent
