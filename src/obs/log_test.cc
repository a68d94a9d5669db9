#include "obs/log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "base/limits.h"
#include "base/strings.h"
#include "obs/log_format.h"

namespace chela::log {
namespace {

class LogFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "chela-log-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(directory_);
  }

  std::string path() const { return directory_ + "/chela.log"; }
  std::vector<json::Value> lines() const {
    std::ifstream file(path());
    std::vector<json::Value> all;
    for (std::string line; std::getline(file, line);) all.push_back(json::parse(line).value());
    return all;
  }

  std::string directory_;
};

TEST_F(LogFile, WritesOneJsonObjectALine) {
  ASSERT_TRUE(start({.file = path(), .file_level = Level::kDebug}));
  trace("t", "not this");
  info("gateway", "two\nlines",
       {{"port", 3000}, {"thread", "T1"}, {"ok", true}, {"ratio", 0.5}, {"bytes", "\xff"}});
  error("store", "bad");
  const std::vector<json::Value> all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].string_or("level"), "info");
  EXPECT_EQ(all[0].string_or("target"), "gateway");
  EXPECT_EQ(all[0].string_or("msg"), "two\nlines");
  EXPECT_EQ(all[0].string_or("thread"), "T1");
  EXPECT_TRUE(parse_rfc3339(all[0].string_or("ts")));
  EXPECT_EQ(*all[0].find("fields"),
            json::parse("{\"port\":3000,\"ok\":true,\"ratio\":0.5,\"bytes\":\"\uFFFD\"}").value());
  EXPECT_EQ(all[1].find("fields"), nullptr);
}

TEST_F(LogFile, NothingIsWrittenWhenOff) {
  EXPECT_FALSE(enabled(Level::kError));
  error("t", "dropped");
  ASSERT_TRUE(start({.file = path(), .file_level = Level::kWarn}));
  EXPECT_FALSE(enabled(Level::kInfo));
  EXPECT_TRUE(enabled(Level::kWarn));
  info("t", "dropped");
  stop();
  error("t", "dropped");
  EXPECT_TRUE(lines().empty());
}

TEST_F(LogFile, TheNewestLinesAreKeptWithoutSecrets) {
  register_secret("kept-secret-kept");
  ASSERT_TRUE(start({.file = path()}));
  const std::vector<Entry> before = recent(0, 1);
  const std::uint64_t last = before.empty() ? 0 : before.back().number;
  debug("t", "below the level");
  warn("gateway", "key kept-secret-kept",
       {{"header", "Bearer kept-secret-kept"}, {"n", 7}, {"text", std::string(9000, 'x')}});
  const std::vector<Entry> kept = recent(last, 10);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].number, last + 1);
  EXPECT_EQ(kept[0].level, Level::kWarn);
  EXPECT_EQ(kept[0].target, "gateway");
  EXPECT_TRUE(kept[0].message.starts_with("key [redacted] header=\"Bearer [redacted]\" n=7 text=xxx"))
      << kept[0].message;
  EXPECT_EQ(kept[0].message.size(), kMaxLogRingMessageBytes);
  for (size_t i = 0; i < kLogRingEntries + 10; ++i) info("t", "one of many");
  EXPECT_EQ(recent(0, 10'000).size(), kLogRingEntries);
  const std::vector<Entry> newest = recent(0, 3);
  ASSERT_EQ(newest.size(), 3u);
  EXPECT_EQ(newest.back().number, last + 1 + kLogRingEntries + 10);
  EXPECT_TRUE(recent(newest.back().number, 3).empty());
  EXPECT_TRUE(recent(newest.back().number + 5, 3).empty());
  EXPECT_EQ(recent(newest.back().number - 1, 3).size(), 1u);
}

TEST_F(LogFile, TheLevelChangesWhileItRuns) {
  ASSERT_TRUE(start({.file = path(), .file_level = Level::kOff}));
  EXPECT_FALSE(std::filesystem::exists(path()));
  error("t", "dropped");
  ASSERT_TRUE(set_level(Level::kDebug));
  EXPECT_EQ(level(), Level::kDebug);
  debug("t", "written");
  ASSERT_TRUE(set_level(Level::kError));
  info("t", "dropped");
  EXPECT_FALSE(enabled(Level::kWarn));
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0].string_or("msg"), "written");
}

TEST_F(LogFile, FollowersHearOfEveryLineUntilTheyLeave) {
  ASSERT_TRUE(start({.file = path()}));
  int heard = 0;
  {
    const Follower follower([&heard] { ++heard; });
    info("t", "one");
    debug("t", "below the level");
    info("t", "two");
    EXPECT_EQ(heard, 2);
  }
  info("t", "three");
  EXPECT_EQ(heard, 2);
}

TEST_F(LogFile, MasksSecretsEverywhere) {
  register_secret("hunter2-hunter2");
  register_secret("hunter2-hunter2-longer");
  register_secret("abc");  // too short to mask
  ASSERT_TRUE(start({.file = path()}));
  info("t", "key hunter2-hunter2 abc", {{"header", "Bearer hunter2-hunter2-longer"}});
  stop();
  std::ifstream file(path());
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.find("hunter2"), std::string::npos) << line;
  EXPECT_NE(line.find("key [redacted] abc"), std::string::npos) << line;
  EXPECT_NE(line.find("\"Bearer [redacted]\""), std::string::npos) << line;
  EXPECT_EQ(redact("x hunter2-hunter2 y"), "x [redacted] y");
}

TEST_F(LogFile, RotatesAndKeepsSoManyFiles) {
  ASSERT_TRUE(start({.file = path()}));
  const std::string block(1024 * 1024, 'x');
  for (size_t i = 0; i < (kMaxLogFileBytes / block.size()) * (kMaxLogFiles + 2); ++i) info("t", block);
  stop();
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_LE(entry.file_size(), kMaxLogFileBytes);
    ++files;
  }
  EXPECT_EQ(files, kMaxLogFiles);
}

TEST_F(LogFile, LinesOfSeveralThreadsStayWhole) {
  ASSERT_TRUE(start({.file = path()}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) info("t", "message", {{"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines().size(), 800u);
}

TEST_F(LogFile, SaysWhenTheFileCannotBeOpened) {
  const Result<> started = start({.file = directory_ + "/no/such\0dir"});
  EXPECT_TRUE(started);  // missing folders are made
  std::ofstream(path()) << "";
  const Result<> under_file = start({.file = path() + "/x"});
  ASSERT_FALSE(under_file);
  EXPECT_EQ(under_file.error().code, Code::kUnavailable);
}

TEST(Redaction, ForgetsWhatWasNotAddedForLongest) {
  const auto secret = [](size_t i) { return fmt::format("secret-{:05}", i); };
  Redaction masks;
  for (size_t i = 0; i < kMaxMaskedSecrets; ++i) masks.add(secret(i));
  masks.add(secret(0));
  masks.add(secret(kMaxMaskedSecrets));
  EXPECT_EQ(masks.apply(secret(0)), "[redacted]");
  EXPECT_EQ(masks.apply(secret(1)), secret(1));
  EXPECT_EQ(masks.apply(secret(2)), "[redacted]");
  EXPECT_EQ(masks.apply(secret(kMaxMaskedSecrets)), "[redacted]");
  masks.add(std::string(kMaxMaskedBytes, 'x'));
  EXPECT_EQ(masks.apply(secret(2)), secret(2));
}

TEST(PeopleLine, IsReadableAndCannotBeForged) {
  const Redaction none;
  const Line line{.time = 1'767'225'601'250,
                  .level = Level::kWarn,
                  .target = "gateway",
                  .message = "slow\n\x1b[2J",
                  .fields = {{"thread", "t7"}, {"ms", 20}, {"why", "a b"}}};
  EXPECT_EQ(people_line(line, none),
            "00:00:01.250 warn  gateway: slow\\x0a\\x1b[2J thread=t7 ms=20 why=\"a b\"");
}

TEST(Level, NamesGoBothWays) {
  for (const Level level :
       {Level::kTrace, Level::kDebug, Level::kInfo, Level::kWarn, Level::kError, Level::kOff}) {
    EXPECT_EQ(level_from_name(level_name(level)), level);
  }
  EXPECT_FALSE(level_from_name("verbose"));
}

}  // namespace
}  // namespace chela::log
