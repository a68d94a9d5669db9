#include "api/permissions.h"

#include <gtest/gtest.h>

#include "api/api_test_fixture.h"

namespace chela::api {
namespace {

const ToolGroups kGroups{"core", "bus"};

TEST(Permissions, ThoseThatSomethingAsksForAreKnown) {
  for (const std::string_view each : {"*", "admin", "chat:*", "chat:write", "memory:*", "system:*",
                                      "settings:read", "tools:*", "tools:core", "tools:bus", "bus:*",
                                      "bus:call", "bus:replace:*", "bus:replace:chat::send", "bus:env:KEY"}) {
    EXPECT_TRUE(check_permission(each, kGroups)) << each;
  }
}

// A token may be made while no engine runs, and with it no bus.
TEST(Permissions, ToolsOfWorkersAreKnownWithoutABus) {
  EXPECT_TRUE(check_permission("tools:bus", {}));
  const std::string listed = check_permission("nonsense", kGroups).error().message;
  EXPECT_EQ(listed.find("tools:bus"), listed.rfind("tools:bus")) << listed;
}

TEST(Permissions, OthersAreRefusedWithThoseThatThereAre) {
  for (const std::string_view each :
       {"nonsense", "chat", "chat:", "chat:reed", "nonsense:*", ":*", "c:*", "tools:", "tools:cor",
        "tools:core:*", "bus:replace:", "**", "admin:*", ""}) {
    EXPECT_FALSE(check_permission(each, kGroups)) << each;
  }
  const Error error = check_permission("nonsense", kGroups).error();
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  for (const std::string_view named : {"'nonsense'", "chat:write", "tools:core", "bus:replace:<name>"})
    EXPECT_TRUE(error.message.contains(named)) << error.message;
}

class OperationPermissions : public ApiTest {};

TEST_F(OperationPermissions, AreAllKnown) {
  for (const std::shared_ptr<const op::Operation>& each : registry_.list()) {
    if (!each->permission.empty()) EXPECT_TRUE(check_permission(each->permission, {})) << each->id;
  }
}

}  // namespace
}  // namespace chela::api
