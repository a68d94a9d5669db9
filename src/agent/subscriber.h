#pragma once

#include <deque>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "agent/event_mapping.h"
#include "agent/hub.h"

// The inside of the hub: running model calls, users, and what a subscriber does with both.
namespace chela::agent {

class Subscriber;

// A model call that runs, or whose answer is not published yet. Its text is shown from the moment its ModelRequested is published:
// what was logged before it, in the order of the log, comes before it.
struct Hub::Call {
  struct Kept {
    Place in_user;
    Place in_thread;
    MappedEvent event;
  };
  std::string thread;
  std::string turn;
  std::string text = {};  // so far
  std::deque<Kept> ring = {};
  std::int64_t count = 0;  // deltas so far, those that fell out of the ring included
  bool shown = false;
  bool hurried = false;  // a commit of its record was asked for
  bool given_up = false;
  Place dropped_in_user{-1, 0};  // the newest that fell out of the ring
  Place dropped_in_thread{-1, 0};
  Place thread_place = {};
};

struct Hub::User {
  Place place;
  // By thread, oldest first: a call may begin before the answer of the one before is committed. Only the first can be shown.
  std::map<std::string, std::deque<Call>, std::less<>> calls;
  std::vector<Subscriber*> subscribers;
};

json::Value reset_data(std::string_view thread, std::string_view turn, std::string_view text);

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
  void reset();

  bool wants(std::string_view thread) const { return thread_.empty() || thread_ == thread; }
  bool live() const { return live_ && !closed_; }
  bool closed() const { return closed_; }

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

  // Without an id: a client that comes back does not get it again.
  void push(const MappedEvent& event) {
    queue_.push_back({"", event.type, event.data});
    limit();
    wake();
  }

  void close() {
    closed_ = true;
    hub_ = nullptr;
    wake();
  }

  std::optional<Event> try_next() override;

  Task<std::optional<Event>> next(std::stop_token stop) override;

 private:
  // Reads the next page of the log; at its end, takes over the running deltas and goes live. What is published while a page is read is
  // noted by missed(), so that an empty page is the end only when nothing came meanwhile.
  Task<> catch_up();

  // The client holds a part of an answer that is in the log by now: give it the whole.
  void add_answered(const store::LogRecord& record);

  void take_over();

  std::vector<const Hub::Call*> shown_calls() const;

  Place place_of(const Hub::Call::Kept& kept) const {
    return thread_.empty() ? kept.in_user : kept.in_thread;
  }
  Place place_of(const Hub::Call& call) const { return thread_.empty() ? user_->place : call.thread_place; }

  // Only the last event of a record carries its id: a client that lost the rest gets the record again.
  void add_record(const store::LogRecord& record, const std::vector<MappedEvent>& events);

  // A burst of small deltas becomes fewer events: a client that reads is not cut off because its model is fast.
  bool merge(const Hub::Call::Kept& kept);

  void add(const Hub::Call::Kept& kept);

  // A client that does not keep up is cut off; it can come back with its last id.
  void limit();

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
  std::list<Event> queue_;  // mostly empty, and then without memory of its own
  std::optional<runtime::Completion<bool>> waiter_;
};

}  // namespace chela::agent
