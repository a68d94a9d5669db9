#include "bus/queue/line.h"

#include "base/check.h"

namespace chela::bus::queue {

void Line::offer(const Ticket& ticket) {
  if (ticket.not_before > 0) {
    delayed_.insert({ticket.not_before, ticket.seq});
  } else {
    ready_.insert(ready_key(ticket));
  }
}

void Line::add(Ticket ticket) {
  const Seq seq = ticket.seq;
  const auto [at, added] = entries_.try_emplace(seq, Entry{.ticket = std::move(ticket)});
  CHELA_CHECK(added, "a message stands in line twice");
  const Ticket& own = at->second.ticket;
  if (own.group) {
    std::deque<Seq>& group = groups_[*own.group];
    group.push_back(seq);
    if (group.size() > 1) return;
  }
  offer(own);
}

std::optional<Seq> Line::take(UnixMs now) {
  if (running_ >= concurrency_) return std::nullopt;
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const Seq seq = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    ready_.insert(ready_key(entries_.at(seq).ticket));
  }
  if (ready_.empty()) return std::nullopt;
  const Seq seq = ready_.begin()->second;
  ready_.erase(ready_.begin());
  entries_.at(seq).running = true;
  ++running_;
  return seq;
}

void Line::finish(Seq seq) {
  const auto at = entries_.find(seq);
  CHELA_CHECK(at != entries_.end() && at->second.running, "a message that does not run is finished");
  --running_;
  const std::optional<std::string> group = std::move(at->second.ticket.group);
  entries_.erase(at);
  if (!group) return;
  const auto line = groups_.find(*group);
  line->second.pop_front();
  if (line->second.empty()) {
    groups_.erase(line);
  } else {
    offer(entries_.at(line->second.front()).ticket);
  }
}

void Line::retry(Seq seq, UnixMs not_before) {
  Entry& entry = entries_.at(seq);
  CHELA_CHECK(entry.running, "a message that does not run is retried");
  --running_;
  entry.running = false;
  entry.ticket.not_before = not_before;
  offer(entry.ticket);
}

void Line::park(Seq seq, std::string_view until) {
  Entry& entry = entries_.at(seq);
  CHELA_CHECK(entry.running, "a message that does not run is parked");
  --running_;
  entry.running = false;
  auto at = parked_.find(until);
  if (at == parked_.end()) at = parked_.emplace(until, std::set<Seq>()).first;
  at->second.insert(seq);
}

void Line::wake(std::string_view until) {
  const auto at = parked_.find(until);
  if (at == parked_.end()) return;
  for (const Seq seq : at->second) ready_.insert(ready_key(entries_.at(seq).ticket));
  parked_.erase(at);
}

std::vector<std::string> Line::parked() const {
  std::vector<std::string> names;
  names.reserve(parked_.size());
  for (const auto& [name, seqs] : parked_) names.push_back(name);
  return names;
}

std::optional<UnixMs> Line::next_at() const {
  if (running_ >= concurrency_ || delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

}  // namespace chela::bus::queue
