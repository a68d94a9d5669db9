#include "agent/thread_table.h"

#include <algorithm>
#include <vector>

namespace chela::agent {
namespace {

std::string name_key(const Scope& scope, const std::string& channel, const std::string& external) {
  return session_key(scope) + '\0' + channel + '\0' + external;
}

}  // namespace

std::string session_key(const Scope& scope) { return scope.realm + '\0' + scope.user + '\0' + scope.agent; }

ThreadPtr ThreadTable::find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

ThreadPtr ThreadTable::find_named(const Scope& scope, const std::string& channel,
                                  const std::string& external) const {
  const auto found = by_name_.find(name_key(scope, channel, external));
  return found == by_name_.end() ? nullptr : found->second.lock();
}

ThreadPtr ThreadTable::add(ThreadPtr thread) {
  const store::ThreadRow& row = thread->row;
  const auto [entry, is_new] = by_id_.try_emplace(row.id, thread);
  if (!is_new) return entry->second;
  if (!row.external_thread.empty()) by_name_[name_key(row.scope, row.channel, row.external_thread)] = thread;
  ++sessions_[session_key(row.scope)];
  return thread;
}

void ThreadTable::remove(const ThreadPtr& thread) {
  const auto found = by_id_.find(thread->row.id);
  if (found == by_id_.end() || found->second != thread) return;
  by_id_.erase(found);
  forget(*thread);
}

void ThreadTable::forget(const Thread& thread) {
  const store::ThreadRow& row = thread.row;
  if (!row.external_thread.empty()) by_name_.erase(name_key(row.scope, row.channel, row.external_thread));
  const auto session = sessions_.find(session_key(row.scope));
  if (--session->second > 0) return;
  sessions_.erase(session);
  session_end_(row.scope);
}

void ThreadTable::drop_idle() {
  if (by_id_.size() <= max_) return;
  std::vector<ThreadPtr> idle;
  for (const auto& [id, thread] : by_id_) {
    if (thread.use_count() == 1 && !thread->working) idle.push_back(thread);
  }
  std::sort(idle.begin(), idle.end(),
            [](const ThreadPtr& a, const ThreadPtr& b) { return a->last_used < b->last_used; });
  // A quarter at a time: the walk over all threads is then rare.
  const std::size_t drop = std::min(idle.size(), by_id_.size() - max_ * 3 / 4);
  for (std::size_t i = 0; i < drop; ++i) remove(idle[i]);
}

}  // namespace chela::agent
