#include "llm/backends/keyed_provider.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/fake_keys.h"
#include "testing/manual_loop.h"

namespace chela::llm {
namespace {

class Named final : public Provider {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {}
  Task<Result<Answer>> complete(Request, DeltaSink, std::optional<SteadyTime>, std::stop_token) override {
    co_return Answer{.text = name_};
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{name_};
  }

 private:
  std::string name_;
};

Task<Result<std::unique_ptr<Provider>>> make_named(int number, bool fails) {
  if (fails) co_return fail(Code::kUnavailable, "no key");
  co_return std::make_unique<Named>(fmt::to_string(number));
}

TEST(KeyedProvider, IsMadeAtTheFirstCallAndAgainWhenAKeyChanged) {
  testing::ManualLoop loop;
  testing::FakeKeys keys;
  int made = 0;
  bool fails = true;
  KeyedProvider provider([&] { return make_named(++made, fails); }, keys);
  const auto ask = [&] { return runtime::block_on(loop, provider.complete({}, {}, std::nullopt, {})); };
  EXPECT_EQ(made, 0);
  EXPECT_FALSE(ask());
  EXPECT_FALSE(runtime::block_on(loop, provider.models({})));
  fails = false;
  EXPECT_EQ(ask()->text, "3") << "what failed is tried again";
  EXPECT_EQ(ask()->text, "3");
  keys.change();
  EXPECT_EQ(runtime::block_on(loop, provider.models({}))->front(), "4");
  EXPECT_EQ(ask()->text, "4");
}

}  // namespace
}  // namespace chela::llm
