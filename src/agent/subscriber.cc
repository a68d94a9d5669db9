#include "agent/subscriber.h"

#include <algorithm>

#include "agent/turn/records.h"

namespace chela::agent {
namespace {

constexpr size_t kReplayPage = 200;
constexpr size_t kMergeDeltasFrom = 64;        // events waiting; from there on deltas join the one before
constexpr size_t kMaxMergedDeltaBytes = 8192;  // of text in such an event

}  // namespace

json::Value reset_data(std::string_view thread, std::string_view turn, std::string_view text) {
  json::Value data = event_data("stream_reset", thread, turn);
  data.set("text", text);
  return data;
}

void Subscriber::reset() {
  live_ = true;
  bool any = false;
  for (const Hub::Call* call : shown_calls()) {
    any = true;
    queue_.push_back(
        {place_of(*call).text(), "stream_reset", reset_data(call->thread, call->turn, call->text)});
  }
  if (!any) queue_.push_back({"", "stream_reset", reset_data(thread_, "", "")});
  wake();
}

std::optional<Event> Subscriber::try_next() {
  if (queue_.empty()) return std::nullopt;
  std::optional<Event> event(std::move(queue_.front()));
  queue_.pop_front();
  return event;
}

Task<std::optional<Event>> Subscriber::next(std::stop_token stop) {
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

Task<> Subscriber::catch_up() {
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

void Subscriber::add_answered(const store::LogRecord& record) {
  const auto input = turn::from_body(record.kind, record.body);
  if (!input) return;
  answered_ = true;
  queue_.push_back(
      {"", "stream_reset",
       reset_data(record.thread, record.turn, std::get<turn::ModelAnswered>(*input).answer.text)});
}

void Subscriber::take_over() {
  const std::vector<const Hub::Call*> calls = shown_calls();
  const auto in_ring = [this](const Hub::Call* call) {
    return std::any_of(call->ring.begin(), call->ring.end(),
                       [this](const Hub::Call::Kept& kept) { return place_of(kept) == asked_; });
  };
  const bool known = asked_.delta == 0 || std::any_of(calls.begin(), calls.end(), in_ring);
  const bool any = !calls.empty();
  for (const Hub::Call* call : calls) {
    const Place dropped = thread_.empty() ? call->dropped_in_user : call->dropped_in_thread;
    if (known && dropped <= asked_) {
      for (const Hub::Call::Kept& kept : call->ring) {
        if (place_of(kept) > asked_) add(kept);
      }
    } else {
      queue_.push_back(
          {place_of(*call).text(), "stream_reset", reset_data(call->thread, call->turn, call->text)});
    }
  }
  if (!known && !any && !answered_) queue_.push_back({"", "stream_reset", reset_data(thread_, "", "")});
}

std::vector<const Hub::Call*> Subscriber::shown_calls() const {
  std::vector<const Hub::Call*> out;
  for (const auto& [thread, calls] : user_->calls) {
    if (wants(thread) && !calls.empty() && calls.front().shown) out.push_back(&calls.front());
  }
  return out;
}

void Subscriber::add_record(const store::LogRecord& record, const std::vector<MappedEvent>& events) {
  at_ = {thread_.empty() ? record.pos : record.seq, 0};
  for (size_t i = 0; i < events.size(); ++i) {
    queue_.push_back({i + 1 == events.size() ? at_.text() : "", events[i].type, events[i].data});
  }
  wake();
}

bool Subscriber::merge(const Hub::Call::Kept& kept) {
  if (queue_.size() < kMergeDeltasFrom || kept.event.type != "stream_chunk") return false;
  Event& last = queue_.back();
  if (last.type != "stream_chunk" || last.data.string_or("turn_id") != kept.event.data.string_or("turn_id"))
    return false;
  const std::string text = last.data.string_or("content") + kept.event.data.string_or("content");
  if (text.size() > kMaxMergedDeltaBytes) return false;
  last.data.set("content", text);
  last.id = at_.text();
  return true;
}

void Subscriber::add(const Hub::Call::Kept& kept) {
  at_ = place_of(kept);
  if (merge(kept)) return;
  queue_.push_back({at_.text(), kept.event.type, kept.event.data});
  wake();
}

void Subscriber::limit() {
  if (queue_.size() <= hub_->subscriber_queue_) return;
  queue_.clear();
  reset();
  closed_ = true;
  wake();
}

}  // namespace chela::agent
