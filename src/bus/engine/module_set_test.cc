#include "bus/engine/module_set.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::bus {
namespace {

using json::Value;

std::vector<std::string> events;

class Part final : public Module {
 public:
  explicit Part(std::string name) : name_(std::move(name)) {}
  Task<Result<>> start() override {
    events.push_back("start " + name_);
    if (name_ == "bad") co_return fail(Code::kConflict, "the port is taken");
    co_return Result<>{};
  }
  void opened() override { events.push_back("opened " + name_); }
  Task<> stop() override {
    events.push_back("stop " + name_);
    co_return;
  }
  Value status() const override { return Value::object({{"name", name_}}); }

 private:
  std::string name_;
};

ModuleKind kind(std::string name, ModuleKind::When when = ModuleKind::When::kDefault) {
  return {.names = {"modules::" + name, "iii-" + name}, .make = {}, .when = when};
}

Result<std::unique_ptr<Module>> make_part(const ModuleKind& kind, const Value& config) {
  const std::string name = kind.names.back().substr(4);
  if (config.find("wrong") != nullptr) return fail(Code::kInvalidArgument, "{}: wrong", name);
  return std::make_unique<Part>(name);
}

TEST(ModuleSet, RunsInTheOrderOfTheConfigurationAndStopsBackwards) {
  events.clear();
  testing::ManualLoop loop;
  std::vector<ModuleKind> kinds{kind("a"), kind("b"), kind("always", ModuleKind::When::kAlways),
                                kind("rare", ModuleKind::When::kNamed)};
  const auto make = [&](const std::vector<ModuleConfig>& wanted) {
    return ModuleSet::make(make_part, kinds, wanted);
  };
  Result<ModuleSet> set = make({{.name = "iii-b", .config = {}}, {.name = "modules::a", .config = {}}});
  ASSERT_TRUE(set);
  EXPECT_TRUE(runtime::block_on(loop, set->start()));
  set->opened();
  EXPECT_EQ(json::write(set->status()),
            R"({"iii-always":{"name":"always"},"iii-b":{"name":"b"},"iii-a":{"name":"a"}})");
  runtime::block_on(loop, set->stop());
  runtime::block_on(loop, set->stop());
  EXPECT_EQ(events, (std::vector<std::string>{"start always", "start b", "start a", "opened always",
                                              "opened b", "opened a", "stop a", "stop b", "stop always"}));
  EXPECT_EQ(ModuleSet::defaults(kinds).size(), 2u);
  EXPECT_EQ(make({{.name = "iii-a", .config = {}}, {.name = "modules::a", .config = {}}}).error().message,
            "the module modules::a is in the configuration twice");
  EXPECT_EQ(make({{.name = "iii-a", .config = Value::object({{"wrong", 1}})}}).error().message, "a: wrong");
  EXPECT_EQ(make({{.name = "iii-z", .config = {}}}).error().message,
            "there is no module iii-z in this engine (it has iii-a, iii-b, iii-always, iii-rare)");
  const Error foreign = make({{.name = "iii-bridge", .config = {}}}).error();
  EXPECT_EQ(foreign.code, Code::kUnsupported);
  EXPECT_NE(foreign.message.find("does not have iii's module iii-bridge"), std::string::npos);
}

TEST(ModuleSet, OneThatCannotStartEndsTheStart) {
  events.clear();
  testing::ManualLoop loop;
  const std::vector<ModuleKind> kinds{kind("a"), kind("bad"), kind("c")};
  Result<ModuleSet> set = ModuleSet::make(make_part, kinds, ModuleSet::defaults(kinds));
  ASSERT_TRUE(set);
  const Result<> started = runtime::block_on(loop, set->start());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "the module iii-bad cannot start: the port is taken");
  EXPECT_EQ(started.error().code, Code::kConflict);
  runtime::block_on(loop, set->stop());
  EXPECT_EQ(events, (std::vector<std::string>{"start a", "start bad", "stop bad", "stop a"}));
}

}  // namespace
}  // namespace chela::bus
