#pragma once

#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"
#include "store/turn_log_store.h"

namespace chela::store::sqlite {

class TurnLog final : public TurnLogStore {
 public:
  TurnLog(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  Task<Result<Appended>> append(AppendRequest request) override;
  void commit_soon() override { writer_.commit_soon(); }
  Task<Result<ThreadRow>> ensure_thread(ThreadRow row) override;
  Task<Result<ThreadRow>> thread(Scope scope, std::string id) override;
  Task<Result<std::optional<ThreadRow>>> thread_by_key(Scope scope, std::string channel,
                                                       std::string external) override;
  Task<Result<std::optional<ThreadRow>>> thread_by_transcript(Scope scope, std::string channel,
                                                              std::string hash) override;
  Task<Result<std::vector<ThreadRow>>> threads(Scope scope, ThreadFilter filter) override;
  Task<Result<std::vector<UsageRow>>> usage(Scope scope, std::int64_t first_day) override;
  Task<Result<std::vector<LogRecord>>> read_thread(Scope scope, std::string thread, std::int64_t after,
                                                   std::size_t limit) override;
  Task<Result<std::vector<LogRecord>>> read_thread_back(Scope scope, std::string thread, std::int64_t before,
                                                        std::size_t limit) override;
  Task<Result<std::vector<LogRecord>>> read_user(Scope scope, std::int64_t after, std::size_t limit) override;
  Task<Result<std::int64_t>> last_pos(Scope scope) override;
  Task<Result<std::vector<ThreadRow>>> open_threads() override;
  Task<Result<std::optional<std::pair<std::string, std::string>>>> idempotent_message(Scope scope,
                                                                                      std::string key,
                                                                                      UnixMs now) override;
  Task<Result<std::vector<OutboxRow>>> outbox_pending(std::size_t limit) override;
  Task<Result<>> outbox_update(Scope scope, std::string id, std::string state, std::int64_t attempts,
                               UnixMs now) override;

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace chela::store::sqlite
