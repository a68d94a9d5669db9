#include <algorithm>

#include "bus/queue/queue.h"

namespace chela::bus::queue {

std::vector<MessagePtr> Queue::all_dead() const {
  std::vector<MessagePtr> all;
  all.reserve(dead_.size());
  for (const auto& [seq, message] : dead_) all.push_back(message);
  return all;
}

MessagePtr Queue::find_dead(std::string_view message_id) const {
  for (const auto& [seq, message] : dead_) {
    if (message->id == message_id) return message;
  }
  return nullptr;
}

// They leave the dead before the disk is waited for, so that nobody takes one twice; those that could not be written are back.
Task<Result<size_t>> Queue::take_dead(std::vector<MessagePtr> messages, Fate fate) {
  const std::shared_ptr<Queue> self = shared_from_this();
  for (const MessagePtr& message : messages) dead_.erase(message->seq);
  size_t taken = 0;
  while (taken < messages.size()) {
    const size_t end = std::min(taken + kMaxDeadPerCommit, messages.size());
    std::vector<store::RecordChange> changes;
    for (size_t i = taken; i < end; ++i) {
      if (fate == Fate::kDiscard) {
        std::ranges::move(erase_message(*messages[i]), std::back_inserter(changes));
      } else {
        changes.push_back(erase_attempts(*messages[i]));
      }
    }
    if (const Result<> written = co_await shared_.journal.commit(std::move(changes)); !written) {
      for (; taken < messages.size(); ++taken) {
        shared_.journal.later(put_attempts(*messages[taken]));
        dead_.emplace(messages[taken]->seq, messages[taken]);
      }
      co_return fail(written.error());
    }
    for (; taken < end; ++taken) leave_dead(messages[taken], fate);
    pump_soon();
  }
  co_return taken;
}

void Queue::leave_dead(const MessagePtr& message, Fate fate) {
  if (fate == Fate::kDiscard) return forget(*message);
  message->attempts = 0;
  message->retry_at = message->died_at = 0;
  message->error.clear();
  enter_line(message);
}

}  // namespace chela::bus::queue
