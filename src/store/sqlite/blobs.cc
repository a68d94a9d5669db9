#include "store/sqlite/blobs.h"

#include "base/limits.h"

namespace chela::store::sqlite {
namespace {

Task<Result<>> ready(Result<> result) { co_return result; }

}  // namespace

// Kept by the writer until it is committed: records that name the blob may follow at once.
class Blobs::Save final : public Job {
 public:
  Save(Unsaved::const_iterator entry, std::shared_ptr<Unsaved> unsaved)
      : Job(entry->second->size()),
        key_(entry->first),
        content_(entry->second),
        unsaved_(std::move(unsaved)) {}

  Result<> run(Connection& db) override {
    const auto& [realm, user, hash] = key_;
    return db.run(
        "INSERT INTO blobs (realm, user_id, hash, content) VALUES (?, ?, ?, ?) ON CONFLICT (realm, user_id, "
        "hash) DO NOTHING",
        {realm, user, hash, Arg::blob(*content_)});
  }
  void fail(const Error&) override {
  }  // only when the store closes; no record that names the blob was committed
  void finish() override { unsaved_->erase(key_); }
  bool is_kept() const override { return true; }

 private:
  const Unsaved::key_type key_;
  const std::shared_ptr<const std::string> content_;
  const std::shared_ptr<Unsaved> unsaved_;
};

Task<Result<>> Blobs::put(Scope scope, std::string hash, std::string content) {
  return ready(queue(scope, std::move(hash), std::move(content)));
}

Result<> Blobs::queue(const Scope& scope, std::string hash, std::string content) {
  if (content.size() > kMaxBlobBytes)
    return fail(Code::kTooLarge, "a blob of {} bytes; at most {} can be stored", content.size(),
                kMaxBlobBytes);
  const auto [entry, is_new] = unsaved_->try_emplace({scope.realm, scope.user, std::move(hash)},
                                                     std::make_shared<const std::string>(std::move(content)));
  if (!is_new) return {};
  Result<> queued = writer_.submit(std::make_unique<Save>(entry, unsaved_), Durability::kLazy);
  if (!queued) unsaved_->erase(entry);
  return queued;
}

Task<Result<std::string>> Blobs::get(Scope scope, std::string hash) {
  const auto unsaved = unsaved_->find({scope.realm, scope.user, hash});
  if (unsaved != unsaved_->end()) co_return *unsaved->second;
  co_return co_await readers_.read(
      [scope = std::move(scope), hash = std::move(hash)](Connection& db) -> Result<std::string> {
        Result<std::optional<std::string>> found =
            db.one("SELECT content FROM blobs WHERE realm = ? AND user_id = ? AND hash = ?",
                   {scope.realm, scope.user, hash}, [](const Row& row) { return row.text(0); });
        if (!found) return fail(std::move(found.error()));
        if (!*found) return fail(Code::kNotFound, "no blob {}", hash);
        return std::move(**found);
      });
}

}  // namespace chela::store::sqlite
