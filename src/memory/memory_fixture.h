#pragma once

#include <gtest/gtest.h>

#include "memory/workspace.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"

namespace chela::memory {

// A workspace over the embedded database in memory. The clock stands at 2026-01-01T00:00:00Z.
class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    auto opened = store::sqlite::Database::open_in_memory(loop);
    EXPECT_TRUE(opened) << opened.error().text();
    database = std::move(*opened);
    workspace.emplace(database->memory(), ids, loop.clock());
  }

  template <class T>
  T wait(Task<T> task) {
    return runtime::block_on(loop, std::move(task));
  }
  void put(std::string path, std::string content, Visibility visibility = Visibility::kShared) {
    const auto written = wait(workspace->write(scope, std::move(path), std::move(content), visibility));
    ASSERT_TRUE(written) << written.error().text();
  }
  std::string content_of(std::string path) {
    const auto row = wait(workspace->read(scope, std::move(path)));
    return row ? row->content : "error: " + row.error().text();
  }

  testing::ManualLoop loop;
  testing::CountingIds ids;
  Scope scope{.realm = "default", .user = "ann", .agent = "default"};
  std::unique_ptr<store::sqlite::Database> database;
  std::optional<Workspace> workspace;
};

}  // namespace chela::memory
