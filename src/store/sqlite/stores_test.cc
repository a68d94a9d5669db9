#include <cstdlib>
#include <filesystem>

#include "store/sqlite/database.h"
#include "store/sqlite/test_stores.h"
#include "testing/manual_loop.h"

namespace chela::store::sqlite {
namespace {

class Stores final : public ConformanceStores {
 public:
  enum class Where { kFile, kMemory };
  explicit Stores(Where where) {
    Result<std::unique_ptr<Database>> opened = where == Where::kFile
                                                   ? Database::open(dir_.file("home/chela.db"), loop_, pool_)
                                                   : Database::open_in_memory(loop_);
    CHELA_CHECK(opened, opened ? "" : opened.error().text());
    db_ = std::move(*opened);
  }

  runtime::EventLoop& loop() override { return loop_; }
  TurnLogStore& turn_log() override { return db_->turn_log(); }
  BlobStore& blobs() override { return db_->blobs(); }
  MemoryStore& memory() override { return db_->memory(); }
  SettingsStore& settings() override { return db_->settings(); }
  TokenStore& tokens() override { return db_->tokens(); }
  BudgetStore& budget() override { return db_->budget(); }
  ResponseCacheStore& response_cache() override { return db_->response_cache(); }

 private:
  TempDir dir_;
  testing::ManualLoop loop_;
  runtime::Pool pool_{loop_, 2};
  std::unique_ptr<Database> db_;
};

}  // namespace

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "chela-store-XXXXXX").string();
  CHELA_CHECK(::mkdtemp(name.data()) != nullptr, "cannot make a temporary folder");
  path_ = std::move(name);
}

TempDir::~TempDir() { std::filesystem::remove_all(path_); }

std::unique_ptr<ConformanceStores> stores_in_file() { return std::make_unique<Stores>(Stores::Where::kFile); }
std::unique_ptr<ConformanceStores> stores_in_memory() {
  return std::make_unique<Stores>(Stores::Where::kMemory);
}

}  // namespace chela::store::sqlite
