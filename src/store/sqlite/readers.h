#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/pool.h"
#include "runtime/task.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

// Reads of a database file: each on a pool thread, on a connection that only reads and that no other thread uses meanwhile. A read that
// begins after a write was acknowledged sees it. There are never more connections than pool threads; they open on first use and stay.
class Readers {
 public:
  Readers(std::string path, runtime::Pool& pool)
      : set_(std::make_shared<Set>(std::move(path))), pool_(&pool) {}
  // Of a database in memory: on the loop, with the writer's connection.
  explicit Readers(Writer& writer) : writer_(&writer) {}

  // Gives the value of `work` (Connection& -> Result<T>).
  template <class Work>
  auto read(Work work) -> Task<std::invoke_result_t<Work, Connection&>> {
    using R = std::invoke_result_t<Work, Connection&>;
    if (writer_ != nullptr) co_return work(writer_->connection_on_loop());
    // The set lives as long as a read that a pool thread has begun, whoever else has gone.
    co_return co_await pool_->run([set = set_, work = std::move(work)]() mutable -> R {
      Result<std::unique_ptr<Connection>> db = set->take();
      if (!db) return R(std::unexpect, std::move(db.error()));
      R value = work(**db);
      set->give_back(std::move(*db));
      return value;
    });
  }

 private:
  class Set {
   public:
    explicit Set(std::string path) : path_(std::move(path)) {}
    Result<std::unique_ptr<Connection>> take();
    void give_back(std::unique_ptr<Connection> db);

   private:
    const std::string path_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_;
  };

  std::shared_ptr<Set> set_;
  runtime::Pool* pool_ = nullptr;
  Writer* writer_ = nullptr;
};

}  // namespace chela::store::sqlite
