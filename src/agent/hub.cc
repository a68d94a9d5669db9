#include "agent/hub.h"

#include <algorithm>

#include "agent/event_mapping.h"
#include "agent/turn/records.h"

namespace chela::agent {

class Subscriber;

namespace {

constexpr size_t kReplayPage = 200;

std::string key_of(const Scope& scope) { return scope.realm + '\0' + scope.user; }

json::Value reset_data(std::string_view thread, std::string_view turn, std::string_view text) {
  json::Value data = event_data("stream_reset", thread, turn);
  data.set("text", text);
  return data;
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

// A model call that runs.
struct Hub::Call {
  struct Kept {
    Place in_user;
    Place in_thread;
    MappedEvent event;
  };
  std::string thread;
  std::string turn;
  std::string text;  // so far
  std::deque<Kept> ring;
  Place dropped_in_user{-1, 0};  // the newest that fell out of the ring
  Place dropped_in_thread{-1, 0};
  Place thread_place;
};

struct Hub::User {
  Place place;
  std::map<std::string, Call, std::less<>> calls;  // by thread
  std::vector<Subscriber*> subscribers;
};

// One client's place. Reads the log page by page until it has caught up, then gets what the hub pushes.
class Subscriber final : public Subscription {
 public:
  Subscriber(Hub& hub, Hub::User& user, Scope scope, std::string thread)
      : hub_(&hub), user_(&user), scope_(std::move(scope)), thread_(std::move(thread)) {
    user.subscribers.push_back(this);
  }

  ~Subscriber() override {
    if (hub_ == nullptr) return;
    std::erase(user_->subscribers, this);
    hub_->drop_idle(scope_);
  }

  void resume_from(Place place) {
    asked_ = at_ = place;
    live_ = false;
  }

  // Tells the client to forget what it has, and goes on live.
  void reset() {
    bool any = false;
    for (const auto& [thread, call] : user_->calls) {
      if (!wants(thread)) continue;
      any = true;
      queue_.push_back({place_of(call).text(), "stream_reset", reset_data(thread, call.turn, call.text)});
    }
    if (!any) queue_.push_back({"", "stream_reset", reset_data(thread_, "", "")});
  }

  bool wants(std::string_view thread) const { return thread_.empty() || thread_ == thread; }
  bool live() const { return live_ && !closed_; }

  // A record came while this one still reads the log, where it will find it.
  void missed(const store::LogRecord& record) { newest_ = thread_.empty() ? record.pos : record.seq; }

  void push(const store::LogRecord& record, const std::vector<MappedEvent>& events) {
    add_record(record, events);
    limit();
  }

  void push(const Hub::Call::Kept& kept) {
    add(kept);
    limit();
  }

  void close() {
    closed_ = true;
    hub_ = nullptr;
    wake();
  }

  std::optional<Event> try_next() override {
    if (queue_.empty()) return std::nullopt;
    std::optional<Event> event(std::move(queue_.front()));
    queue_.pop_front();
    return event;
  }

  Task<std::optional<Event>> next(std::stop_token stop) override {
    while (queue_.empty() && !closed_) {
      if (stop.stop_requested()) co_return std::nullopt;
      if (!live_) {
        co_await catch_up();
        continue;
      }
      const runtime::Completion<bool> woken(hub_->loop_);
      waiter_ = woken;
      const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
      const bool more = co_await woken;
      waiter_.reset();
      if (!more) co_return std::nullopt;
    }
    co_return try_next();
  }

 private:
  // Reads the next page of the log; at its end, takes over the running deltas and goes live. What is published while a page is read is
  // noted by missed(), so that an empty page is the end only when nothing came meanwhile.
  Task<> catch_up() {
    Result<std::vector<store::LogRecord>> page =
        thread_.empty() ? co_await hub_->log_.read_user(scope_, at_.record, kReplayPage)
                        : co_await hub_->log_.read_thread(scope_, thread_, at_.record, kReplayPage);
    if (closed_) co_return;
    if (!page) {
      // The client comes back and is told; going on with a hole would be worse.
      closed_ = true;
      co_return;
    }
    for (const store::LogRecord& record : *page) {
      if (asked_.delta > 0 && record.kind == "ModelAnswered") add_answered(record);
      add_record(record, events_of(record));
    }
    if (!page->empty()) co_return;
    if (newest_ > at_.record) co_return;
    take_over();
    live_ = true;
  }

  // The client holds a part of an answer that is in the log by now: give it the whole.
  void add_answered(const store::LogRecord& record) {
    const auto input = turn::from_body(record.kind, record.body);
    if (!input) return;
    answered_ = true;
    queue_.push_back(
        {"", "stream_reset",
         reset_data(record.thread, record.turn, std::get<turn::ModelAnswered>(*input).answer.text)});
  }

  void take_over() {
    const auto in_ring = [this](const auto& entry) {
      return std::any_of(entry.second.ring.begin(), entry.second.ring.end(),
                         [this](const Hub::Call::Kept& kept) { return place_of(kept) == asked_; });
    };
    const bool known = asked_.delta == 0 || std::any_of(user_->calls.begin(), user_->calls.end(), in_ring);
    bool any = false;
    for (const auto& [thread, call] : user_->calls) {
      if (!wants(thread)) continue;
      any = true;
      const Place dropped = thread_.empty() ? call.dropped_in_user : call.dropped_in_thread;
      if (known && dropped <= asked_) {
        for (const Hub::Call::Kept& kept : call.ring) {
          if (place_of(kept) > asked_) add(kept);
        }
      } else {
        queue_.push_back({place_of(call).text(), "stream_reset", reset_data(thread, call.turn, call.text)});
      }
    }
    if (!known && !any && !answered_) queue_.push_back({"", "stream_reset", reset_data(thread_, "", "")});
  }

  Place place_of(const Hub::Call::Kept& kept) const {
    return thread_.empty() ? kept.in_user : kept.in_thread;
  }
  Place place_of(const Hub::Call& call) const { return thread_.empty() ? user_->place : call.thread_place; }

  // Only the last event of a record carries its id: a client that lost the rest gets the record again.
  void add_record(const store::LogRecord& record, const std::vector<MappedEvent>& events) {
    at_ = {thread_.empty() ? record.pos : record.seq, 0};
    for (size_t i = 0; i < events.size(); ++i) {
      queue_.push_back({i + 1 == events.size() ? at_.text() : "", events[i].type, events[i].data});
    }
    wake();
  }

  void add(const Hub::Call::Kept& kept) {
    at_ = place_of(kept);
    queue_.push_back({at_.text(), kept.event.type, kept.event.data});
    wake();
  }

  // A client that does not keep up is cut off; it can come back with its last id.
  void limit() {
    if (queue_.size() <= hub_->subscriber_queue_) return;
    queue_.clear();
    reset();
    closed_ = true;
    wake();
  }

  void wake() {
    if (waiter_) waiter_->resolve(true);
  }

  Hub* hub_;
  Hub::User* user_;
  Scope scope_;
  std::string thread_;
  Place asked_;
  Place at_;
  std::int64_t newest_ = 0;
  bool live_ = true;
  bool closed_ = false;
  bool answered_ = false;
  std::deque<Event> queue_;
  std::optional<runtime::Completion<bool>> waiter_;
};

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
    const auto call = user.calls.find(record.thread);
    if (call != user.calls.end()) {
      call->second.thread_place = {record.seq, 0};
      if (record.kind == "ModelAnswered") user.calls.erase(call);
    }
    if (user.subscribers.empty()) continue;
    const std::vector<MappedEvent> events = events_of(record);
    for (Subscriber* subscriber : user.subscribers) {
      if (!subscriber->wants(record.thread)) continue;
      if (subscriber->live()) {
        subscriber->push(record, events);
      } else {
        subscriber->missed(record);
      }
    }
  }
  drop_idle(scope);
}

void Hub::begin_call(const Scope& scope, const std::string& thread, const std::string& turn,
                     std::int64_t last_seq, Attempt attempt) {
  Call& call = user(scope).calls[thread];
  call = Call{.thread = thread, .turn = turn, .text = {}, .ring = {}};
  call.thread_place = {last_seq, 0};
  if (attempt == Attempt::kFirst) return;
  User& owner = user(scope);
  ++owner.place.delta;
  ++call.thread_place.delta;
  call.ring.push_back({owner.place, call.thread_place, {"stream_reset", reset_data(thread, turn, "")}});
  for (Subscriber* subscriber : owner.subscribers) {
    if (subscriber->live() && subscriber->wants(thread)) subscriber->push(call.ring.back());
  }
}

void Hub::delta(const Scope& scope, const std::string& thread, const std::string& text) {
  User& owner = user(scope);
  const auto found = owner.calls.find(thread);
  if (found == owner.calls.end() || text.empty()) return;
  Call& call = found->second;
  call.text += text;
  ++owner.place.delta;
  ++call.thread_place.delta;
  json::Value data = event_data("stream_chunk", thread, call.turn);
  data.set("content", text);
  call.ring.push_back({owner.place, call.thread_place, {"stream_chunk", std::move(data)}});
  if (call.ring.size() > ring_) {
    call.dropped_in_user = call.ring.front().in_user;
    call.dropped_in_thread = call.ring.front().in_thread;
    call.ring.pop_front();
  }
  for (Subscriber* subscriber : owner.subscribers) {
    if (subscriber->live() && subscriber->wants(thread)) subscriber->push(call.ring.back());
  }
}

void Hub::end_call(const Scope& scope, const std::string& thread) {
  const auto found = users_.find(key_of(scope));
  if (found == users_.end()) return;
  found->second->calls.erase(thread);
  drop_idle(scope);
}

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
  std::int64_t newest = 0;
  if (place && thread.empty()) {
    const Result<std::int64_t> pos = co_await log_.last_pos(scope);
    if (!pos) co_return fail(pos.error());
    newest = *pos;
    owner->place = std::max(owner->place, Place{newest, 0});
  } else if (place) {
    const Result<store::ThreadRow> row = co_await log_.thread(scope, thread);
    if (!row) co_return fail(row.error());
    newest = row->last_seq;
  }
  if (place && place->record <= newest) {
    subscriber->resume_from(*place);
  } else {
    subscriber->reset();
  }
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
