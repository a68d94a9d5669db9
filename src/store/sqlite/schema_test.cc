#include "store/sqlite/schema.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "store/sqlite/database.h"
#include "store/sqlite/test_stores.h"
#include "testing/manual_loop.h"

namespace chela::store::sqlite {
namespace {

using Access = Connection::Access;

class SchemaTest : public ::testing::Test {
 protected:
  Result<> open() {
    Result<std::unique_ptr<Database>> db = Database::open(path_, loop_, pool_);
    if (!db) return fail(std::move(db.error()));
    return {};
  }
  std::unique_ptr<Connection> connect() { return Connection::open(path_, Access::kReadWrite).value(); }
  static std::int64_t number(Connection& db, std::string_view sql) {
    return **db.one(sql, {}, [](const Row& row) { return row.integer(0); });
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }
  static std::string content_of(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
  }

  TempDir dir_;
  const std::string path_ = dir_.file("home/chela.db");
  testing::ManualLoop loop_;
  runtime::Pool pool_{loop_, 1};
};

TEST_F(SchemaTest, FilesArePrivate) {
  Result<std::unique_ptr<Database>> db = Database::open(path_, loop_, pool_);
  ASSERT_TRUE(db) << db.error().text();
  EXPECT_EQ(mode_of(dir_.file("home")), 0700U);
  for (const char* suffix : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path_ + suffix), 0600U);
  db->reset();
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  ASSERT_TRUE(open());
  EXPECT_EQ(mode_of(path_), 0600U);
}

TEST_F(SchemaTest, MigrationsAreAppliedOnceAndRecorded) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(open());
  const std::unique_ptr<Connection> db = connect();
  EXPECT_EQ(number(*db, "SELECT count(*) FROM schema_migrations"),
            static_cast<std::int64_t>(sqlite_migrations().size()));
  EXPECT_EQ(number(*db, "SELECT count(*) FROM schema_migrations WHERE length(sha256) <> 64"), 0);
  EXPECT_EQ(number(*db, "SELECT min(applied_at) FROM schema_migrations"), loop_.clock().now());
}

// But for what is the engine's own: which migrations there were, and whether somebody counts.
TEST_F(SchemaTest, EveryTableCarriesItsOwner) {
  ASSERT_TRUE(open());
  const std::unique_ptr<Connection> db = connect();
  EXPECT_EQ(number(*db,
                   "SELECT count(*) FROM sqlite_schema s WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
                   "AND name NOT LIKE 'chunks_text%'"
                   " AND name NOT IN ('schema_migrations', 'budget_state')"
                   " AND 2 <> (SELECT count(*) FROM pragma_table_info(s.name) WHERE name IN ('realm', "
                   "'user_id') AND \"notnull\" = 1)"),
            0);
}

// What plain SQLite cannot open or write.
TEST_F(SchemaTest, NothingNeedsMoreThanSqlite) {
  ASSERT_TRUE(open());
  const std::unique_ptr<Connection> db = connect();
  EXPECT_EQ(
      number(*db,
             "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%RANDOM%ROWID%' OR sql LIKE '%libsql_%'"),
      0);
}

TEST_F(SchemaTest, ANewerSchemaIsRefused) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(connect()->run("INSERT INTO schema_migrations VALUES ('turn_log', 999, 'later', 'x', 0)"));
  const Result<> refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().message.find("turn_log/0999_later"), std::string::npos)
      << refused.error().message;
}

TEST_F(SchemaTest, AChangedMigrationIsRefused) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(connect()->run("UPDATE schema_migrations SET sha256 = 'x' WHERE domain = 'blobs'"));
  const Result<> refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_NE(refused.error().message.find("blobs/0001_blobs"), std::string::npos) << refused.error().message;
}

TEST_F(SchemaTest, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const std::string path = dir_.file("notes.txt");
  std::ofstream(path) << std::string(5000, 'n');
  const Result<std::unique_ptr<Database>> refused = Database::open(path, loop_, pool_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("another home folder"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(content_of(path), std::string(5000, 'n'));
}

TEST_F(SchemaTest, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  const std::string path = dir_.file("other.db");
  ASSERT_TRUE(Connection::open(path, Access::kReadWrite).value()->run("CREATE TABLE mine (x)"));
  const std::string before = content_of(path);
  const Result<std::unique_ptr<Database>> refused = Database::open(path, loop_, pool_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(content_of(path), before);
}

TEST_F(SchemaTest, AFolderThatCannotBeMadeIsNamed) {
  const Result<std::unique_ptr<Database>> refused =
      Database::open(dir_.file("no/such/chela.db"), loop_, pool_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("no/such"), std::string::npos) << refused.error().message;
}

TEST_F(SchemaTest, AFailingMigrationLeavesTheEarlierOnesAndNothingOfItself) {
  const std::unique_ptr<Connection> db = Connection::open("", Access::kReadWrite).value();
  const Migration good{
      .domain = "x", .number = 1, .name = "good", .sha256 = "a", .sql = "CREATE TABLE good (n)"};
  const Migration bad{.domain = "x",
                      .number = 2,
                      .name = "bad",
                      .sha256 = "b",
                      .sql = "CREATE TABLE half (n); CREATE NONSENSE;"};
  const Migration both[] = {good, bad};
  const Result<> failed = migrate(*db, both, 1);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("x/0002_bad"), std::string::npos) << failed.error().message;
  EXPECT_EQ(number(*db, "SELECT count(*) FROM sqlite_schema WHERE name IN ('good', 'half')"), 1);
  EXPECT_EQ(number(*db, "SELECT count(*) FROM schema_migrations"), 1);
  const Migration mended[] = {
      good, {.domain = "x", .number = 2, .name = "bad", .sha256 = "c", .sql = "CREATE TABLE half (n)"}};
  EXPECT_TRUE(migrate(*db, mended, 2));
}

}  // namespace
}  // namespace chela::store::sqlite
