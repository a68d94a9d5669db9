#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "base/strings.h"
#include "os/child_process.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/signals.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/test_dir.h"

namespace chela::os {
namespace {

using namespace std::chrono_literals;
using runtime::block_on;

constexpr int kPatienceMs = 20'000;

// True when the process ends (or has ended) within kPatienceMs. Not for children of this process.
bool gone(pid_t pid) {
  const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return errno == ESRCH;
  pollfd watched{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, kPatienceMs) == 1;
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class Child : public ::testing::Test {
 protected:
  SpawnOptions shell(std::string script) {
    SpawnOptions options{.argv = {"sh", "-c", std::move(script)}, .env = base_environment()};
    options.out.kind = Stdio::Kind::kPipe;
    return options;
  }
  Result<ChildProcess> spawn(SpawnOptions options) {
    return block_on(loop, ChildProcess::spawn(*poller, std::move(options)));
  }
  ExitStatus wait(ChildProcess& child) { return block_on(loop, child.wait({})).value(); }
  ExitStatus wait(ChildProcess&& child) { return wait(child); }
  std::string output(ChildProcess& child) {
    std::string all;
    while (true) {
      const Result<std::string> part = block_on(loop, child.read_stdout(1000, {}));
      if (!part || part->empty()) return all;
      all += *part;
    }
  }
  std::vector<pid_t> read_pids(ChildProcess& child, size_t count) {
    std::string text;
    while (static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) < count) {
      const std::string part = block_on(loop, child.read_stdout(100, {})).value();
      if (part.empty()) throw std::runtime_error("the child ended early");
      text += part;
    }
    std::vector<pid_t> pids;
    for (const std::string_view line : strings::split(strings::trim(text), '\n'))
      pids.push_back(strings::parse_int<pid_t>(line).value());
    return pids;
  }

  runtime::AsioLoop loop;
  std::unique_ptr<Poller> poller = Poller::create(loop).value();
};

TEST_F(Child, GivesOutputAndStatus) {
  Result<ChildProcess> child = spawn(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(child) << child.error().text();
  EXPECT_EQ(output(*child), "out\n");
  EXPECT_EQ(wait(*child).text(), "exit 3");
  EXPECT_EQ(wait(*child).code, 3);
  EXPECT_FALSE(wait(*child).ok());
  EXPECT_EQ(wait(spawn(shell("kill -SEGV $$")).value()).text(), "signal 11");
}

TEST_F(Child, SaysWhyItCannotStart) {
  EXPECT_EQ(spawn({.argv = {"/no/such/program"}}).error().code, Code::kNotFound);
  EXPECT_EQ(spawn({.argv = {"no-such-program"}, .env = base_environment()}).error().code, Code::kNotFound);
  EXPECT_EQ(spawn({.argv = {"/etc/passwd"}}).error().code, Code::kPermissionDenied);
  EXPECT_EQ(spawn({.argv = {"/bin/true"}, .cwd = "/no/such/folder"}).error().message,
            "cannot enter /no/such/folder: No such file or directory");
  EXPECT_EQ(spawn({.argv = {}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(spawn({.argv = {"/bin/true", std::string("a\0b", 3)}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(spawn({.argv = {"/bin/true"}, .env = {{"A=B", "c"}}}).error().code, Code::kInvalidArgument);
}

TEST_F(Child, SeesOnlyWhatItIsGiven) {
  ::setenv("CHELA_TEST_ENGINE_SECRET", "hidden", 1);
  const testing::TestDir dir;
  SpawnOptions options = shell("pwd; env; ls /proc/self/fd | tr '\\n' ' '");
  options.env = {{"PATH", "/usr/bin:/bin"}, {"GIVEN", "yes"}};
  options.cwd = dir.path();
  const Fd leaked(::open("/dev/null", O_RDONLY));  // not close-on-exec, as a careless library leaves it
  Result<ChildProcess> child = spawn(options);
  const std::string text = output(*child);
  EXPECT_TRUE(text.starts_with(std::filesystem::canonical(dir.path()).string() + "\n")) << text;
  EXPECT_NE(text.find("GIVEN=yes"), std::string::npos);
  EXPECT_EQ(text.find("CHELA_TEST_ENGINE_SECRET"), std::string::npos);
  EXPECT_TRUE(text.ends_with("0 1 2 3 ")) << text;  // 3 is ls reading the folder
  ::unsetenv("CHELA_TEST_ENGINE_SECRET");
}

TEST_F(Child, ReadsAndWritesMoreThanAPipeHolds) {
  SpawnOptions options = shell("cat");
  options.in.kind = Stdio::Kind::kPipe;
  ChildProcess child = spawn(options).value();
  const std::string sent(1'000'000, 'x');
  std::string got;
  runtime::TaskGroup tasks(loop);
  struct Work {
    static Task<> write(ChildProcess& c, std::string bytes) {
      EXPECT_TRUE(co_await c.write_stdin(std::move(bytes), {}));
      c.close_stdin();
    }
    static Task<> read(ChildProcess& c, std::string& all) {
      while (true) {
        const Result<std::string> part = co_await c.read_stdout(4096, {});
        if (!part || part->empty()) co_return;
        all += *part;
      }
    }
  };
  tasks.spawn(Work::write(child, sent));
  tasks.spawn(Work::read(child, got));
  block_on(loop, tasks.join());
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(wait(child).ok());
}

TEST_F(Child, WritingToOneThatIsGoneIsAnError) {
  SpawnOptions options = shell("exec 0<&-; echo closed; cat /dev/zero");
  options.in.kind = Stdio::Kind::kPipe;
  ChildProcess child = spawn(options).value();
  block_on(loop, child.read_stdout(7, {})).value();
  EXPECT_EQ(block_on(loop, child.write_stdin("x", {})).error().code, Code::kUnavailable);
  EXPECT_EQ(block_on(loop, child.read_stderr(1, {})).error().code, Code::kInvalidArgument);
}

TEST_F(Child, FilesTakeOutputAndGiveInput) {
  const testing::TestDir dir;
  ASSERT_TRUE(write_file_atomic(dir.path() + "/in", "text", 0600));
  SpawnOptions options = shell("cat; echo problem >&2");
  options.in = {.kind = Stdio::Kind::kFile, .path = dir.path() + "/in"};
  options.out = {.kind = Stdio::Kind::kFile, .path = dir.path() + "/log"};
  options.err = options.out;
  EXPECT_TRUE(wait(spawn(options).value()).ok());
  EXPECT_TRUE(wait(spawn(options).value()).ok());
  EXPECT_EQ(read_file(dir.path() + "/log", 100).value(), "textproblem\ntextproblem\n");
}

TEST_F(Child, TerminateIsGentleFirst) {
  ChildProcess child =
      spawn(shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")).value();
  EXPECT_EQ(block_on(loop, child.read_stdout(100, {})).value(), "ready\n");
  EXPECT_EQ(block_on(loop, child.terminate(60s)).text(), "exit 7");
  EXPECT_EQ(output(child), "bye\n");
}

TEST_F(Child, TerminateKillsWhatDoesNotListen) {
  ChildProcess child = spawn(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done")).value();
  EXPECT_EQ(block_on(loop, child.read_stdout(100, {})).value(), "ready\n");
  EXPECT_EQ(block_on(loop, child.terminate(20ms)).text(), "signal 9");
}

TEST_F(Child, WhoDoesNotSayHowLongGivesTheUsualGrace) {
  ChildProcess child = spawn(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done")).value();
  EXPECT_EQ(block_on(loop, child.read_stdout(100, {})).value(), "ready\n");
  const SteadyTime before = loop.clock().steady();
  EXPECT_EQ(block_on(loop, child.terminate()).text(), "signal 9");
  EXPECT_GE(loop.clock().steady() - before, kCancelGrace);  // it would go on for ever
}

TEST_F(Child, WaitingCanBeStoppedAndSharedByTwo) {
  ChildProcess child = spawn(shell("echo ready; exec sleep 1000")).value();
  std::stop_source stop;
  loop.post([&] { stop.request_stop(); });
  EXPECT_EQ(block_on(loop, child.wait(stop.get_token())).error().code, Code::kCancelled);
  std::vector<std::string> seen;
  runtime::TaskGroup tasks(loop);
  struct Work {
    static Task<> wait(ChildProcess& c, std::vector<std::string>& out) {
      out.push_back((co_await c.wait({})).value().text());
    }
  };
  tasks.spawn(Work::wait(child, seen));
  tasks.spawn(Work::wait(child, seen));
  EXPECT_EQ(block_on(loop, child.terminate()).text(), "signal 15");
  block_on(loop, tasks.join());
  EXPECT_EQ(seen, (std::vector<std::string>{"signal 15", "signal 15"}));
}

// A tree that tries to escape: a background process, one in a new session, one whose parent is gone.
constexpr const char* kEscapeScript =
    "sleep 1000 & echo $!; setsid sleep 1001 & echo $!; sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 1002\" "
    "&' & wait $!; ";

TEST_F(Child, DestructionLeavesNothingBehind) {
  std::vector<pid_t> pids;
  {
    ChildProcess child = spawn(shell(std::string(kEscapeScript) + "sleep 1003")).value();
    pids = read_pids(child, 3);
    pids.push_back(child.pid());
  }
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

TEST_F(Child, AKilledGuardTakesItsChildWithIt) {
  ChildProcess child = spawn(shell("echo $PPID; exec sleep 1000")).value();
  const pid_t guard = read_pids(child, 1).front();
  ::kill(guard, SIGKILL);
  EXPECT_EQ(wait(child).text(), "signal 9");
  EXPECT_TRUE(gone(child.pid()));
  EXPECT_EQ(output(child), "");
  child.signal(SIGTERM);  // to nobody
  EXPECT_EQ(block_on(loop, child.terminate()).text(), "signal 9");
}

TEST_F(Child, ItsOutputCanBeReadAfterItsEnd) {
  ChildProcess child = spawn(shell("echo last words; exit 4")).value();
  EXPECT_EQ(wait(child).code, 4);
  EXPECT_EQ(output(child), "last words\n");
  EXPECT_EQ(block_on(loop, child.terminate()).text(), "exit 4");  // it has ended already
}

TEST_F(Child, OneIsReplacedByAnother) {
  ChildProcess child = spawn(shell("echo one; exec sleep 1000")).value();
  const pid_t first = child.pid();
  EXPECT_EQ(block_on(loop, child.read_stdout(100, {})).value(), "one\n");
  child = spawn(shell("echo two")).value();
  EXPECT_TRUE(gone(first));
  EXPECT_EQ(output(child), "two\n");
  EXPECT_TRUE(wait(child).ok());
}

TEST_F(Child, AReadCanBeStopped) {
  ChildProcess child = spawn(shell("echo ready; exec sleep 1000")).value();
  EXPECT_EQ(block_on(loop, child.read_stdout(100, {})).value(), "ready\n");
  std::stop_source stop;
  loop.post([&] { stop.request_stop(); });
  EXPECT_EQ(block_on(loop, child.read_stdout(100, stop.get_token())).error().code, Code::kCancelled);
}

TEST_F(Child, TheEndOfTheProgramIsTheEndOfItsTree) {
  SpawnOptions options = shell(std::string(kEscapeScript) + "read line; exit 0");
  options.in.kind = Stdio::Kind::kPipe;
  ChildProcess child = spawn(options).value();
  const std::vector<pid_t> pids = read_pids(child, 3);
  child.close_stdin();
  EXPECT_TRUE(wait(child).ok());
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

// Not a test by itself: the engine that the next test kills.
TEST_F(Child, VictimOfTheNextTest) {
  if (!std::getenv("CHELA_TEST_VICTIM")) GTEST_SKIP();
  SpawnOptions options = shell(std::string(kEscapeScript) + "echo $$; sleep 1003");
  options.out.kind = Stdio::Kind::kInherit;
  ChildProcess child = spawn(options).value();
  wait(child);
}

TEST_F(Child, KillingTheEngineLeavesNothingBehind) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
  std::string program = own_program();
  std::string filter = "--gtest_filter=Child.VictimOfTheNextTest";
  std::string brief = "--gtest_brief=1";
  char* argv[] = {program.data(), filter.data(), brief.data(), nullptr};
  std::string victim = "CHELA_TEST_VICTIM=1";
  std::string path = std::string("PATH=") + std::getenv("PATH");
  char* envp[] = {victim.data(), path.data(), nullptr};
  pid_t engine = -1;
  ASSERT_EQ(::posix_spawn(&engine, program.c_str(), &actions, nullptr, argv, envp), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  writer.reset();

  std::vector<pid_t> pids;
  std::string text;
  char buffer[256];
  while (pids.size() < 4) {
    const ssize_t got = ::read(reader.get(), buffer, sizeof buffer);
    ASSERT_GT(got, 0) << text;
    text.append(buffer, static_cast<size_t>(got));
    pids.clear();
    for (const std::string_view line : strings::split(text.substr(0, text.rfind('\n') + 1), '\n')) {
      if (const auto pid = strings::parse_int<pid_t>(line)) pids.push_back(*pid);
    }
  }
  ::kill(engine, SIGKILL);
  ASSERT_EQ(::waitpid(engine, nullptr, 0), engine);
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

TEST(Signals, ArriveOnTheLoop) {
  block_signals({SIGUSR1, SIGUSR2});
  runtime::AsioLoop loop;
  const std::unique_ptr<Poller> poller = Poller::create(loop).value();
  std::vector<int> seen;
  const std::unique_ptr<SignalWatch> watch =
      SignalWatch::create(*poller, {SIGUSR1, SIGUSR2}, [&](int number) { seen.push_back(number); }).value();
  ::kill(::getpid(), SIGUSR1);
  loop.run_until([&] { return seen.size() == 1; });
  ::kill(::getpid(), SIGUSR2);
  loop.run_until([&] { return seen.size() == 2; });
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
  block_on(loop, watch->close());
}

TEST(Environment, BaseHoldsNoSecrets) {
  ::setenv("OPENAI_API_KEY", "k", 1);
  for (const auto& [name, value] : base_environment()) EXPECT_NE(name, "OPENAI_API_KEY");
  EXPECT_EQ(environment().at("OPENAI_API_KEY"), "k");
  scrub_environment({"OPENAI_API_KEY", "NOT_SET"});
  EXPECT_EQ(std::getenv("OPENAI_API_KEY"), nullptr);
}

// Not a test by itself: the process that the next test starts with a secret.
TEST(Environment, ScrubbedInAChild) {
  const char* secret = std::getenv("CHELA_TEST_SECRET");
  if (!secret) GTEST_SKIP();
  const std::string value = secret;
  ::setenv("CHELA_TEST_SECRET", "replaced",
           1);  // moves the variable; the old text stays where the kernel shows it
  ASSERT_NE(read_file("/proc/self/environ", 1 << 20).value().find(value), std::string::npos);
  scrub_environment({"CHELA_TEST_SECRET"});
  const std::string shown = read_file("/proc/self/environ", 1 << 20).value();
  EXPECT_EQ(shown.find(value), std::string::npos);
  EXPECT_NE(shown.find("CHELA_TEST_OTHER=kept"), std::string::npos);
  EXPECT_EQ(std::getenv("CHELA_TEST_SECRET"), nullptr);
}

TEST_F(Child, SecretsLeaveTheEnvironmentThatTheKernelShows) {
  SpawnOptions options{.argv = {own_program(), "--gtest_filter=Environment.ScrubbedInAChild"},
                       .env = base_environment()};
  options.env.emplace_back("CHELA_TEST_SECRET", "s3cret-value");
  options.env.emplace_back("CHELA_TEST_SECRET_NOT", "x");
  options.env.emplace_back("CHELA_TEST_OTHER", "kept");
  options.out.kind = Stdio::Kind::kPipe;
  ChildProcess child = spawn(options).value();
  const std::string text = output(child);
  EXPECT_TRUE(wait(child).ok()) << text;
  EXPECT_NE(text.find("[  PASSED  ] 1 test"), std::string::npos) << text;
}

}  // namespace
}  // namespace chela::os
