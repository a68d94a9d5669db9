#include "testing/memory_records.h"

namespace chela::testing {

using store::Record;
using store::RecordChange;
using store::RecordKey;

class MemoryRecords::File final : public store::Records {
 public:
  File(MemoryRecords& all, std::filesystem::path file) : all_(all), file_(std::move(file)) {}
  ~File() override { end(); }

  Task<Result<std::vector<Record>>> scan(std::string space, std::optional<RecordKey> after,
                                         size_t limit) override {
    if (closed_) co_return fail(Code::kUnavailable, "the records are closed");
    // As with a disk, what was queued before comes first.
    all_.release();
    const Rows& rows = all_.files_[file_];
    std::vector<Record> page;
    size_t bytes = 0;
    auto row = after ? rows.upper_bound(*after) : rows.begin();
    if (!space.empty() && (!after || after->space < space))
      row = rows.lower_bound({.space = space, .key = ""});
    for (; row != rows.end() && page.size() < limit && bytes < store::kMaxRecordPageBytes; ++row) {
      if (!space.empty() && row->first.space != space) break;
      page.push_back({.space = row->first.space, .key = row->first.key, .value = row->second});
      bytes += row->first.space.size() + row->first.key.size() + row->second.size();
    }
    co_return page;
  }

  Task<Result<>> commit(std::vector<RecordChange> changes) override {
    const runtime::Completion<Result<>> done(all_.loop_);
    Result<> valid = store::check_records(changes);
    if (closed_) valid = fail(Code::kUnavailable, "the records are closed");
    if (!valid) {
      done.resolve(std::move(valid));
    } else {
      Commit commit{.file = file_, .changes = std::move(changes), .done = done};
      if (all_.held_) {
        all_.waiting_.push_back(std::move(commit));
      } else {
        all_.finish(std::move(commit));
      }
    }
    return wait(done);
  }

  Task<> close() override {
    end();
    co_return;
  }

 private:
  static Task<Result<>> wait(runtime::Completion<Result<>> done) { co_return co_await done; }
  void end() {
    if (std::exchange(closed_, true)) return;
    all_.release();
    all_.open_.erase(file_);
  }

  MemoryRecords& all_;
  const std::filesystem::path file_;
  bool closed_ = false;
};

store::OpenRecords MemoryRecords::opener() {
  return [this](std::filesystem::path file) { return open(*this, std::move(file)); };
}

Task<Result<std::unique_ptr<store::Records>>> MemoryRecords::open(MemoryRecords& all,
                                                                  std::filesystem::path file) {
  if (!all.open_.insert(file).second) co_return fail(Code::kConflict, "{} is in use", file.string());
  co_return std::make_unique<File>(all, std::move(file));
}

void MemoryRecords::release() {
  held_ = false;
  for (Commit& commit : std::exchange(waiting_, {})) finish(std::move(commit));
}

void MemoryRecords::finish(Commit commit) {
  if (failure) {
    commit.done.resolve(chela::fail(*failure));
    return;
  }
  Rows& rows = files_[commit.file];
  for (RecordChange& change : commit.changes) {
    RecordKey key{.space = std::move(change.space), .key = std::move(change.key)};
    if (change.value) {
      rows.insert_or_assign(std::move(key), std::move(*change.value));
    } else {
      rows.erase(key);
    }
  }
  ++commits;
  commit.done.resolve({});
}

}  // namespace chela::testing
