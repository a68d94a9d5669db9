#include "llm/wire/provider_data.h"

#include <gtest/gtest.h>

namespace chela::llm::wire {
namespace {

TEST(ProviderData, IsFoundByItsProtocolOnly) {
  const std::string data = pack_provider_data("one", json::Value::array({1, "x"}));
  EXPECT_EQ(data, R"({"one":[1,"x"]})");
  EXPECT_EQ(json::write(*provider_data_of("one", data)), R"([1,"x"])");
  EXPECT_FALSE(provider_data_of("two", data));
  for (const std::string_view bad : {"", "{", "7", "[]"}) EXPECT_FALSE(provider_data_of("one", bad));
}

}  // namespace
}  // namespace chela::llm::wire
