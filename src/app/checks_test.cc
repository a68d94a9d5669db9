#include "app/checks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/engine_file.h"
#include "app/status.h"
#include "base/limits.h"
#include "crypto/secret.h"
#include "security/vault_file.h"
#include "testing/test_dir.h"

namespace chela::app {
namespace {

using cli::Check;
using Verdict = Check::Verdict;

class Checks : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }
  void expect(Verdict verdict, const Check& check) {
    EXPECT_EQ(check.verdict, verdict) << check.name << ": " << check.message;
    EXPECT_FALSE(check.message.empty());
    const bool bad = verdict == Verdict::kFail || verdict == Verdict::kWarn;
    EXPECT_EQ(!check.next_step.empty(), bad) << check.name << ": " << check.next_step;
  }

  testing::TestDir dir_;
  Paths paths_ = *paths_for(dir_.path() + "/home", {});
};

TEST_F(Checks, TheInstallationNeedsItsDataAndPrograms) {
  for (const Check& each : check_installation({})) {
    if (each.name == "data") expect(Verdict::kPass, each);
  }
}

TEST_F(Checks, AHomeIsMadePrivateAndWritable) {
  expect(Verdict::kPass, check_home(paths_));  // not there yet
  EXPECT_FALSE(std::filesystem::exists(paths_.home));
  std::filesystem::create_directory(paths_.home);
  ::chmod(paths_.home.c_str(), 0755);
  expect(Verdict::kWarn, check_home(paths_));
  ::chmod(paths_.home.c_str(), 0700);
  expect(Verdict::kPass, check_home(paths_));
  EXPECT_TRUE(std::filesystem::is_empty(paths_.home));
  expect(Verdict::kFail, check_home(*paths_for("/proc/chela", {})));
  expect(Verdict::kFail, check_home(*paths_for("/proc", {})));
  write(dir_.path() + "/file", "");
  expect(Verdict::kFail, check_home(*paths_for(dir_.path() + "/file", {})));
  expect(Verdict::kFail, check_home(*paths_for(dir_.path() + "/file/home", {})));
}

TEST_F(Checks, ADiskMayBeLowOrFull) {
  expect(Verdict::kPass, check_disk("/d", kLowDiskBytes));
  expect(Verdict::kWarn, check_disk("/d", kLowDiskBytes - 1));
  expect(Verdict::kWarn, check_disk("/d", kMinDiskBytes));
  expect(Verdict::kFail, check_disk("/d", kMinDiskBytes - 1));
  EXPECT_GT(free_bytes_at(paths_.home + "/not/there"), 0u);
}

TEST_F(Checks, ADatabaseIsNotThereSoundOrDamaged) {
  std::filesystem::create_directory(paths_.home);
  expect(Verdict::kSkip, check_database(paths_));
  write(paths_.database,
        "this is no database, but as long as one would be, or nearly so: " + std::string(4096, 'x'));
  expect(Verdict::kFail, check_database(paths_));
}

TEST_F(Checks, AVaultOpensWithItsKeyOnly) {
  std::filesystem::create_directory(paths_.home);
  expect(Verdict::kSkip, check_vault(paths_, ""));
  ASSERT_TRUE(
      security::VaultFile(paths_.home, "").set({"default", "u", ""}, "a", crypto::Secret("value"), 1));
  expect(Verdict::kPass, check_vault(paths_, ""));
  ::chmod((paths_.home + "/vault.key").c_str(), 0644);
  expect(Verdict::kFail, check_vault(paths_, ""));
  expect(Verdict::kFail, check_vault(paths_, std::string(32, 'k')));
  std::filesystem::remove(paths_.home + "/vault.key");
  expect(Verdict::kFail, check_vault(paths_, ""));
  write(paths_.home + "/vault", "garbage");
  expect(Verdict::kFail, check_vault(paths_, ""));
}

TEST_F(Checks, APortMayBeTakenOrNowhere) {
  ListenPlace gateway{.part = "gateway", .key = "gateway.port", .host = "127.0.0.1"};
  expect(Verdict::kPass, check_port(gateway));
  gateway.enabled = false;
  expect(Verdict::kSkip, check_port(gateway));
  gateway = {.part = "gateway", .key = "gateway.port", .host = "192.0.2.1"};  // no address of this machine
  expect(Verdict::kFail, check_port(gateway));
  gateway.host = "not a host";
  expect(Verdict::kFail, check_port(gateway));
  const ListenPlace streams{.part = "streams", .key = "bus.stream_port", .host = "192.0.2.1"};
  EXPECT_NE(check_port(streams).next_step.find("--set bus.stream_port=0"), std::string::npos);
}

TEST_F(Checks, ALocalModelNeedsItsFiles) {
  const llm::ModelInfo model{.id = "local/x", .files = {"a.bin", "b.bin"}};
  std::filesystem::create_directories(paths_.models);
  write(paths_.models + "/a.bin", "a");
  const Check missing = check_model_files(paths_, model);
  expect(Verdict::kFail, missing);
  EXPECT_NE(missing.message.find("b.bin"), std::string::npos);
  EXPECT_EQ(missing.message.find("a.bin"), std::string::npos);
  write(paths_.models + "/b.bin", "b");
  expect(Verdict::kPass, check_model_files(paths_, model));
}

TEST_F(Checks, AClockMayBeWrong) {
  constexpr UnixMs kNow = 1'767'225'600'000;
  expect(Verdict::kPass, check_clock(paths_, kNow));
  expect(Verdict::kFail, check_clock(paths_, 1000));
  std::filesystem::create_directory(paths_.home);
  write(paths_.database, "");
  const timespec times[2]{{.tv_sec = kNow / 1000 + 3 * 86'400, .tv_nsec = 0},
                          {.tv_sec = kNow / 1000 + 3 * 86'400, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, paths_.database.c_str(), times, 0), 0);
  expect(Verdict::kFail, check_clock(paths_, kNow));
  expect(Verdict::kPass, check_clock(paths_, kNow + 4 * 86'400'000LL));
}

TEST_F(Checks, OpenFilesMayBeFew) {
  expect(Verdict::kPass, check_open_files(4096, 1024));
  expect(Verdict::kWarn, check_open_files(1024, 1024));
}

TEST(Report, CountsAndSaysWhatToDo) {
  const std::vector<Check> checks{
      {.name = "a", .message = "good"},
      {.name = "b", .verdict = Verdict::kWarn, .message = "so so", .next_step = "think"},
      {.name = "c", .verdict = Verdict::kSkip, .message = "not now"}};
  EXPECT_EQ(cli::report_text(checks),
            "[pass] a: good\n[warn] b: so so\n       next step: think\n[skip] c: not now\n"
            "1 passed, 1 to look at, 0 failed, 1 left out\n");
  EXPECT_EQ(cli::report_exit_code(checks), 0);
  EXPECT_EQ(cli::report_exit_code({{.name = "d", .verdict = Verdict::kFail}}), 1);
  EXPECT_EQ(
      json::write(
          cli::report_json({{.name = "d", .verdict = Verdict::kFail, .message = "m", .next_step = "n"}})),
      R"({"checks":[{"name":"d","verdict":"fail","message":"m","next_step":"n"}],"passed":0,"warned":0,"failed":1,"skipped":0})");
}

TEST(Status, SaysWhatRunsOrThatNothingDoes) {
  json::Value status = json::Value::object({{"running", true}});
  add_engine_status(
      status, *json::parse(R"({"pid": 7, "version": "1.0", "uptime_secs": 93784, "ports": {"gateway": 3000},
                      "model": "m", "backend": "openai", "total_connections": 3, "sse_connections": 2})"),
      *json::parse(R"({"threads": [{}, {}]})"), 5 * 1024 * 1024);
  status.set("home", "/h");
  status.set("web_page", address_of("0.0.0.0", 3000) + "/");
  const std::string text = status_text(status);
  for (const std::string_view part :
       {"pid 7, version 1.0, up 1d 2h\n", "gateway 3000", "web page   http://127.0.0.1:3000/\n",
        "3 connections, 2 event streams", "threads    2\n", "5.0 MiB", "/h"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(status_text(json::Value::object({{"running", false}})).find("not running"), std::string::npos);
  EXPECT_GT(memory_of(::getpid()), 0);
  EXPECT_EQ(memory_of(-1), 0);
  EXPECT_EQ(address_of("::", 80), "http://[::1]:80");
  EXPECT_EQ(address_of("192.0.2.1", 80), "http://192.0.2.1:80");
}

}  // namespace
}  // namespace chela::app
