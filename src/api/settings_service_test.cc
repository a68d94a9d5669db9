#include "api/settings_service.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"
#include "testing/settings_proxy.h"

namespace chela::api {
namespace {

using json::Value;

Value parsed(std::string_view text) { return *json::parse(text); }

// A settings table that can be out of order.
class Table final : public testing::SettingsProxy {
 public:
  using SettingsProxy::SettingsProxy;
  Task<Result<>> apply(std::vector<store::SettingChange> changes, UnixMs at) override {
    if (broken) co_return fail(Code::kUnavailable, "the disk is full");
    co_return co_await SettingsProxy::apply(std::move(changes), at);
  }
  bool broken = false;
};

class SettingsServiceTest : public ::testing::Test {
 protected:
  SettingsServiceTest() { start({}); }

  // As a start of the engine does: the table is one of the layers.
  void start(config::Sources sources) {
    config::Sources all = sources;
    all.settings = *run(SettingsService::load(table_, kOwner));
    Result<config::Config> config = config::Config::load(all);
    ASSERT_TRUE(config) << config.error().text();
    live_.emplace(*std::move(config));
    live_->subscribe({"agent.busy"}, [this](const config::Settings&) { ++heard_; });
    sources.settings = all.settings;
    service_.emplace(SettingsService::Parts{.loop = loop_,
                                            .store = table_,
                                            .live = *live_,
                                            .owner = kOwner,
                                            .sources = std::move(sources),
                                            .read_file = [this] { return file_; }});
  }

  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(loop_, std::move(task));
  }
  static op::Principal admin() { return {.realm = "default", .user = "owner", .permissions = {"*"}}; }
  static op::Principal guest() {
    return {.realm = "default", .user = "guest", .permissions = {"settings:*"}};
  }
  Result<std::string> put(std::string key, Value value) {
    return run(service_->put(admin(), std::move(key), std::move(value)));
  }
  Value get(std::string key) { return run(service_->get(admin(), std::move(key))).value_or(Value()); }
  Value exported() { return *run(service_->export_all(admin()))->find("settings"); }

  const Scope kOwner{"default", "owner", ""};
  testing::ManualLoop loop_;
  std::unique_ptr<store::sqlite::Database> database_ = *store::sqlite::Database::open_in_memory(loop_);
  Table table_{database_->settings()};
  std::optional<config::Live> live_;
  std::optional<SettingsService> service_;
  Result<std::string> file_ = std::string();
  int heard_ = 0;
};

TEST_F(SettingsServiceTest, AHigherLayerWinsUntilItIsGone) {
  const config::Sources flagged{.flags = {{"agent.busy", "steer"}}};
  start(flagged);
  const Result<std::string> warned = put("agent.busy", "queue");
  ASSERT_TRUE(warned) << warned.error().text();
  EXPECT_NE(warned->find("which wins"), std::string::npos) << *warned;
  EXPECT_EQ(get("agent.busy").string_or("value"), "steer");
  EXPECT_EQ(get("agent.busy").string_or("source"), "flag");
  EXPECT_EQ(heard_, 0);
  start({});
  EXPECT_EQ(get("agent.busy").string_or("value"), "queue");
  EXPECT_EQ(get("agent.busy").string_or("source"), "settings");
  ASSERT_TRUE(run(service_->remove(admin(), "agent.busy")));
  EXPECT_EQ(get("agent.busy").string_or("value"), "steer");
  EXPECT_EQ(get("agent.busy").string_or("source"), "default");
  EXPECT_EQ(heard_, 1);
}

TEST_F(SettingsServiceTest, WhatAHigherLayerHidesHasToBeRightAllTheSame) {
  start({.environment = {{"CHELA_AGENT_MAX_TOOL_ITERATIONS", "7"}}});
  EXPECT_EQ(put("agent.max_tool_iterations", 0).error().code, Code::kUnprocessable);
  EXPECT_EQ(put("agent.max_tool_iterations", "many").error().code, Code::kUnprocessable);
  EXPECT_EQ(exported(), Value::object());
}

TEST_F(SettingsServiceTest, TheFileStandsAboveTheTable) {
  ASSERT_TRUE(put("agent.busy", "queue"));
  file_ = std::string("[agent]\nbusy = \"steer\"\n");
  ASSERT_TRUE(run(service_->reload()));
  EXPECT_EQ(get("agent.busy").string_or("value"), "steer");
  EXPECT_EQ(heard_, 2);
  file_ = std::string("[agent]\nbusy = \"sometimes\"\n");
  EXPECT_FALSE(run(service_->reload()));
  EXPECT_EQ(get("agent.busy").string_or("value"), "steer");
  file_ = fail(Code::kPermissionDenied, "cannot read");
  EXPECT_FALSE(run(service_->reload()));
  file_ = std::string();
  ASSERT_TRUE(run(service_->reload()));
  EXPECT_EQ(get("agent.busy").string_or("value"), "queue");
}

TEST_F(SettingsServiceTest, WhatIsNotWrittenDoesNotCount) {
  table_.broken = true;
  EXPECT_EQ(put("agent.busy", "queue").error().code, Code::kUnavailable);
  EXPECT_EQ(run(service_->import_all(admin(), parsed(R"({"agent.busy": "queue"})"))).error().code,
            Code::kUnavailable);
  EXPECT_EQ(get("agent.busy").string_or("value"), "steer");
  EXPECT_EQ(heard_, 0);
  table_.broken = false;
  ASSERT_TRUE(put("agent.name", "writer"));  // nothing of the failed change comes with a later one
  EXPECT_EQ(get("agent.busy").string_or("value"), "steer");
  EXPECT_EQ(exported(), parsed(R"({"agent.name": "writer"})"));
}

TEST_F(SettingsServiceTest, KeysThatWaitForARestartSaySo) {
  const Result<std::string> warned = put("gateway.port", 4000);
  ASSERT_TRUE(warned);
  EXPECT_NE(warned->find("next start"), std::string::npos);
  const Value entry = get("gateway.port");
  EXPECT_EQ(*entry.find("value"), Value(4000));
  EXPECT_EQ(*entry.find("running"), Value(3000));
  EXPECT_TRUE(entry.bool_or("restart_required", false));
  EXPECT_EQ(*run(service_->remove(admin(), "gateway.port")), "");
  start({});
  EXPECT_EQ(get("gateway.port").find("running"), nullptr);
}

TEST_F(SettingsServiceTest, AStoredValueThatFitsNoLongerIsPassedOver) {
  for (const auto& [key, value] :
       {std::pair("config:agent.busy", "\"sometimes\""), std::pair("config:agent.gone", "1"),
        std::pair("config:limits.message", "no json"), std::pair("config:llm.api_key", "\"sk-plain\"")})
    ASSERT_TRUE(run(table_.set(kOwner, key, value, 1)));
  ASSERT_TRUE(run(table_.set(kOwner, "config:agent.name", "\"writer\"", 1)));
  EXPECT_EQ(*run(SettingsService::load(table_, kOwner)),
            (std::map<std::string, std::string>{{"agent.name", "writer"}}));
  start({});
  EXPECT_EQ(exported(), parsed(R"({"agent.name": "writer"})"));
  ASSERT_TRUE(put("agent.busy", "queue"));  // takes the place of the wrong one
  EXPECT_EQ(get("agent.busy").string_or("value"), "queue");
}

TEST_F(SettingsServiceTest, ImportIsAllOrNothing) {
  const Result<std::vector<std::string>> warnings = run(service_->import_all(
      admin(), parsed(R"({"agent.busy": "queue", "gateway.port": 4000, "ui.look": [1]})")));
  ASSERT_TRUE(warnings) << warnings.error().text();
  EXPECT_EQ(warnings->size(), 1u);
  EXPECT_EQ(heard_, 1);
  const Value before = exported();
  for (const std::string_view wrong :
       {R"({"ui.other": 1, "agent.busy": "sometimes"})", R"({"ui.other": 1, "agent.bussy": "queue"})",
        R"({"ui.other": 1, "llm.api_key": "sk-plain"})", R"({"ui.other": 1, "gateway.port": null})",
        R"({"ui.other": 1, "ui.": 1})"}) {
    EXPECT_FALSE(run(service_->import_all(admin(), parsed(wrong)))) << wrong;
    EXPECT_EQ(exported(), before) << wrong;
  }
}

TEST_F(SettingsServiceTest, FreeKeysAreEachUsersOwnAndConfigurationIsTheAdministrators) {
  ASSERT_TRUE(put("ui.look", "dark"));
  EXPECT_EQ(run(service_->get(guest(), "ui.look")).error().code, Code::kNotFound);
  ASSERT_TRUE(run(service_->put(guest(), "ui.look", "light")));
  EXPECT_EQ(get("ui.look").string_or("value"), "dark");
  EXPECT_EQ(run(service_->put(guest(), "agent.busy", "queue")).error().code, Code::kPermissionDenied);
  EXPECT_EQ(run(service_->remove(guest(), "agent.busy")).error().code, Code::kPermissionDenied);
  EXPECT_EQ(heard_, 0);
}

TEST_F(SettingsServiceTest, AUserHasRoomForSoManyFreeKeys) {
  Value many = Value::object();
  for (size_t i = 0; i < kMaxFreeSettings; ++i) many.set(fmt::format("ui.{}", i), 1);
  ASSERT_TRUE(run(service_->import_all(admin(), many)));
  EXPECT_EQ(put("ui.more", 1).error().code, Code::kUnprocessable);
  EXPECT_TRUE(put("ui.0", 2));  // is there already
  EXPECT_TRUE(run(service_->put(guest(), "ui.more", 1)));
  ASSERT_TRUE(run(service_->remove(admin(), "ui.0")));
  EXPECT_TRUE(put("ui.more", 1));
}

TEST_F(SettingsServiceTest, KeysAndValuesHaveALength) {
  const std::string longest = "ui." + std::string(kMaxSettingKeyBytes - 3, 'k');
  EXPECT_TRUE(put(longest, std::string(kMaxSettingBytes - 2, 'x')));  // with its quotes
  EXPECT_EQ(put(longest, std::string(kMaxSettingBytes - 1, 'x')).error().code, Code::kUnprocessable);
  EXPECT_EQ(put(longest + "k", 1).error().code, Code::kUnprocessable);
  EXPECT_EQ(put("llm.model", std::string(kMaxSettingBytes + 1, 'x')).error().code, Code::kUnprocessable);
}

}  // namespace
}  // namespace chela::api
