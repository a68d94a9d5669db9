#include "app/service.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/test_dir.h"

namespace chela::app {
namespace {

TEST(Service, WordsOfTheUnitStayWhatTheyAre) {
  EXPECT_EQ(unit_word("/usr/bin/chela"), "\"/usr/bin/chela\"");
  EXPECT_EQ(unit_word("/my home/%h/$x/\"q\"/\\b"), "\"/my home/%%h/$$x/\\\"q\\\"/\\\\b\"");
  EXPECT_EQ(unit_word("a\nExecStart=b"), "\"a\\nExecStart=b\"");
}

TEST(Service, AUserUnitRestartsAndBelongsToTheSession) {
  const std::string text = unit_text({.program = "/opt/chela/bin/chela", .home = "/people/ada/.chela"});
  for (const std::string_view line :
       {"ExecStart=\"/opt/chela/bin/chela\" run --headless --no-onboard --home \"/people/ada/.chela\"\n",
        "Type=notify\n", "Restart=always\n", "RestartSec=3\n", "NoNewPrivileges=yes\n",
        "WantedBy=default.target\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(text.find("User="), std::string::npos);
  EXPECT_EQ(text.find("ProtectSystem"), std::string::npos);  // needs privileges that a user's manager has not
}

TEST(Service, ASystemUnitRunsAsTheOwnerOfTheHome) {
  const std::string text =
      unit_text({.manager = ServiceUnit::Manager::kSystem, .program = "/p", .home = "/h", .user = "ada"});
  EXPECT_NE(text.find("User=ada\n"), std::string::npos);
  EXPECT_NE(text.find("WantedBy=multi-user.target\n"), std::string::npos);
}

TEST(ServiceCommands, ASystemctlThatHangsIsEnded) {
  const testing::TestDir dir;
  std::ofstream(dir.path() + "/systemctl") << "#!/bin/sh\nexec sleep 1000\n";
  std::filesystem::permissions(dir.path() + "/systemctl", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (dir.path() + ":" + path).c_str(), 1);  // children are looked up in this process' own
  runtime::AsioLoop loop;
  const std::unique_ptr<os::Poller> poller = os::Poller::create(loop).value();
  const Paths paths = *paths_for(dir.path() + "/home", {});
  const std::map<std::string, std::string> environment{{"HOME", dir.path()}};
  std::string out, err;
  const cli::Output output{.out = [&out](std::string_view t) { out += t; },
                           .err = [&err](std::string_view t) { err += t; }};
  ServiceParts parts{
      .loop = loop, .poller = *poller, .paths = paths, .environment = environment, .output = output};
  EXPECT_EQ(parts.systemctl_wait, kSystemctlTimeout);
  parts.systemctl_wait = 30ms;
  EXPECT_EQ(runtime::block_on(loop, run_service(parts, {.what = cli::ServiceCommand::What::kInstall}, {})),
            exit_code(Code::kTimeout))
      << err;
  EXPECT_NE(err.find("systemctl"), std::string::npos) << err;
  ::setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace chela::app
