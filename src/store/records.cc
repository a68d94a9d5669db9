#include "store/records.h"

namespace chela::store {

namespace {
constexpr size_t kPageRecords = 1000;
}

Result<> check_records(const std::vector<RecordChange>& changes) {
  if (changes.size() > kMaxRecordChanges)
    return fail(Code::kTooLarge, "{} changes in one commit; the limit is {}", changes.size(),
                kMaxRecordChanges);
  for (const RecordChange& change : changes) {
    if (change.space.empty()) return fail(Code::kInvalidArgument, "a record needs a space");
    if (change.space.size() > kMaxRecordKeyBytes || change.key.size() > kMaxRecordKeyBytes)
      return fail(Code::kTooLarge, "a record's space or key of {} bytes; the limit is {}",
                  std::max(change.space.size(), change.key.size()), kMaxRecordKeyBytes);
    if (change.value && change.value->size() > kMaxRecordBytes)
      return fail(Code::kTooLarge, "a record of {} bytes; the limit is {}", change.value->size(),
                  kMaxRecordBytes);
  }
  return {};
}

Task<Result<>> each_record(Records& records, std::string space, std::function<Result<>(Record)> visit) {
  std::optional<RecordKey> after;
  while (true) {
    Result<std::vector<Record>> page = co_await records.scan(space, after, kPageRecords);
    if (!page) co_return fail(std::move(page.error()));
    if (page->empty()) co_return Result<>();
    after = RecordKey{.space = page->back().space, .key = page->back().key};
    for (Record& record : *page) {
      Result<> visited = visit(std::move(record));
      if (!visited) co_return visited;
    }
  }
}

}  // namespace chela::store
