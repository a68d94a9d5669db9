#include "store/sqlite/readers.h"

namespace chela::store::sqlite {

Result<std::unique_ptr<Connection>> Readers::Set::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      // The one used last: its cache is warm.
      std::unique_ptr<Connection> db = std::move(idle_.back());
      idle_.pop_back();
      return db;
    }
  }
  return Connection::open(path_, Connection::Access::kReadOnly);
}

void Readers::Set::give_back(std::unique_ptr<Connection> db) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(db));
}

}  // namespace chela::store::sqlite
