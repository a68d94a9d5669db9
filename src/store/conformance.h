#pragma once

// What the conformance suites of all domains share. One program per adapter includes each suite in one source and instantiates it with
// the adapter's factories: INSTANTIATE_TEST_SUITE_P(File, TurnLogConformance, testing::Values(ConformanceFactory{...})).

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/event_loop.h"
#include "runtime/task_group.h"
#include "store/blob_store.h"
#include "store/budget_store.h"
#include "store/memory_store.h"
#include "store/response_cache_store.h"
#include "store/settings_store.h"
#include "store/token_store.h"
#include "store/turn_log_store.h"

namespace chela::store {

// The stores of one empty database of the adapter, with a loop that block_on() may run.
class ConformanceStores {
 public:
  virtual ~ConformanceStores() = default;
  virtual runtime::EventLoop& loop() = 0;
  virtual TurnLogStore& turn_log() = 0;
  virtual BlobStore& blobs() = 0;
  virtual MemoryStore& memory() = 0;
  virtual SettingsStore& settings() = 0;
  virtual TokenStore& tokens() = 0;
  virtual BudgetStore& budget() = 0;
  virtual ResponseCacheStore& response_cache() = 0;
};

using ConformanceFactory = std::unique_ptr<ConformanceStores> (*)();

class StoreConformance : public ::testing::TestWithParam<ConformanceFactory> {
 protected:
  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(stores_->loop(), std::move(task));
  }
  template <class T>
  std::vector<T> run_all(std::vector<Task<T>> tasks) {
    return run(runtime::gather(stores_->loop(), std::move(tasks)));
  }

  std::unique_ptr<ConformanceStores> stores_ = GetParam()();

  // Two users of a realm, a namesake in another realm, and another agent of the first user.
  const Scope ann_{.realm = "r1", .user = "ann", .agent = "default"};
  const Scope bob_{.realm = "r1", .user = "bob", .agent = "default"};
  const Scope other_ann_{.realm = "r2", .user = "ann", .agent = "default"};
  const Scope ann_coder_{.realm = "r1", .user = "ann", .agent = "coder"};
};

template <class T>
Code code_of(const Result<T>& result) {
  EXPECT_FALSE(result) << "expected an error";
  return result ? Code::kInternal : result.error().code;
}

}  // namespace chela::store
