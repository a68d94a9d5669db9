#pragma once

#include <gtest/gtest.h>

#include "hooks/hooks.h"
#include "runtime/asio_loop.h"
#include "security/file_vault.h"
#include "testing/manual_loop.h"
#include "testing/test_dir.h"
#include "tools/builtin/builtin.h"
#include "tools/runner.h"

namespace chela::tools {

// The built-in tools over a temporary workspace, called through the pipeline as a model calls them.
class BuiltinTest : public ::testing::Test {
 protected:
  BuiltinTest() { EXPECT_TRUE(add_builtin_tools(registry, {clock, pool, workspaces, {"SOUL.md"}, vault})); }
  ~BuiltinTest() override { runtime::block_on(loop, runner.close()); }

  FinishedCall call(std::string name, std::string arguments, std::stop_token stop = {}) {
    const CallSite site{.scope = scope, .permissions = {{"*"}}};
    PreparedCall prepared = runtime::block_on(
        loop, runner.prepare(site, {.id = "1", .name = std::move(name), .arguments = std::move(arguments)},
                             nullptr, {}));
    if (prepared.decision == PreparedCall::Decision::kRefused)
      return runner.without_running(prepared.id, prepared.name, prepared.refusal);
    const std::string tool = prepared.name;
    Result<FinishedCall> finished =
        runtime::block_on(loop, runner.execute(site, std::move(prepared), std::move(stop)));
    return finished ? *finished : runner.without_running("1", tool, finished.error().text());
  }
  std::string text(std::string name, std::string arguments) {
    return call(std::move(name), std::move(arguments)).preview;
  }
  std::string root() const { return workspaces.folder_of(scope); }

  testing::TestDir dir;
  Scope scope{.realm = "default", .user = "ann", .agent = ""};
  runtime::AsioLoop loop;      // real: the pool works while the loop waits
  testing::ManualClock clock;  // what the tools are told
  runtime::Pool pool{loop, 2};
  Workspaces workspaces{dir.path() + "/workspace"};
  hooks::Chain chain{loop};
  Registry registry;
  security::FileVault vault{dir.path(), std::string(kMinMasterKeyBytes, 'k'), pool, clock};
  Runner runner{loop, registry, chain, {.timeout = 60s, .max_result_bytes = 100'000}};
};

}  // namespace chela::tools
