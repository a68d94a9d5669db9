#pragma once

#include <string>
#include <utility>
#include <vector>

#include "store/conformance.h"

namespace chela::store {

// What the suites of the turn log's store share.
class TurnLogConformance : public StoreConformance {
 protected:
  TurnLogStore& log() { return stores_->turn_log(); }

  ThreadRow row(const Scope& scope, const std::string& id, const std::string& external = "") {
    return ThreadRow{.id = id,
                     .scope = scope,
                     .channel = "gateway",
                     .external_thread = external,
                     .created_at = 10,
                     .updated_at = 10};
  }
  void make_thread(const Scope& scope, const std::string& id, const std::string& external = "") {
    const Result<ThreadRow> made = run(log().ensure_thread(row(scope, id, external)));
    ASSERT_TRUE(made) << made.error().text();
  }
  AppendRequest request(const Scope& scope, const std::string& thread, std::vector<std::string> bodies,
                        Durability durability = Durability::kBarrier) {
    AppendRequest append{.scope = scope, .thread = thread, .durability = durability, .at = 100};
    for (std::string& body : bodies)
      append.records.push_back(NewRecord{.turn = "t1", .kind = "TurnStarted", .body = std::move(body)});
    return append;
  }
  OutboxRow reply(const Scope& scope, const std::string& id) {
    return OutboxRow{.id = id,
                     .scope = scope,
                     .channel = "gateway",
                     .thread = "a",
                     .turn = "t1",
                     .content = "hello",
                     .created_at = 7};
  }
  std::vector<std::string> bodies(const Scope& scope, const std::string& thread) {
    std::vector<std::string> found;
    const Result<std::vector<LogRecord>> records = run(log().read_thread(scope, thread, 0, 1000));
    EXPECT_TRUE(records);
    if (records) {
      for (const LogRecord& record : *records) found.push_back(record.body);
    }
    return found;
  }
};

}  // namespace chela::store
