#include "bus/queue/policy.h"

#include <gtest/gtest.h>

#include "bus/queue/limits.h"

namespace chela::bus::queue {
namespace {

using namespace std::chrono_literals;

json::Value value(std::string_view text) { return *json::parse(text); }

std::string refusal(std::string_view config) {
  const Result<Policy> policy = Policy::of_named("q", value(config), {});
  return policy ? "" : policy.error().message;
}

TEST(QueuePolicy, NamedQueues) {
  const Result<Policy> all = Policy::of_named(
      "q", value(R"({"type":"fifo","max_retries":5,"concurrency":2,"message_group_field":"g","backoff_ms":20,
                "poll_interval_ms":100,"max_priority":9,"priority_field":"p"})"),
      {});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->order, Policy::Order::kFifo);
  EXPECT_EQ(all->max_attempts, 5);
  EXPECT_EQ(all->concurrency, 2);
  EXPECT_EQ(all->backoff, 20ms);
  EXPECT_EQ(*all->group_of(value(R"({"g":7})"), "q"), "7");
  EXPECT_EQ(all->group_of(value(R"({"g":null})"), "pay").error().message,
            "FIFO queue 'pay' requires field 'g' in data, but it was not found");
  EXPECT_FALSE(all->group_of(value("3"), "q"));
  EXPECT_EQ(all->priority_of(value(R"({"p":4})")), 4);
  EXPECT_EQ(all->priority_of(value(R"({"p":400})")), 9);
  EXPECT_EQ(all->priority_of(value(R"({"p":-1})")), 0);
  EXPECT_EQ(all->priority_of(value(R"({"p":"x"})")), 0);
  const Result<Policy> plain = Policy::of_named("q", value("{}"), {});
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain->group_of(value("{}"), "q"), std::nullopt);
  EXPECT_EQ(plain->max_attempts, 3);
  EXPECT_EQ(plain->backoff, 1s);
}

TEST(QueuePolicy, SaysWhatIsWrong) {
  EXPECT_NE(refusal(R"({"concurency":3})").find("'concurency'"), std::string::npos);
  EXPECT_NE(refusal(R"({"concurrency":0})").find("concurrency: must be a whole number from 1"),
            std::string::npos);
  EXPECT_NE(refusal(fmt::format(R"({{"concurrency":{}}})", kMaxConcurrency + 1)).find("concurrency"),
            std::string::npos);
  EXPECT_NE(refusal(fmt::format(R"({{"max_retries":{}}})", kMaxAttempts + 1)).find("max_retries"),
            std::string::npos);
  EXPECT_NE(refusal(fmt::format(R"({{"max_priority":{}}})", kMaxPriority + 1)).find("max_priority"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"backoff_ms":"1s"})").find("backoff_ms"), std::string::npos);
  EXPECT_NE(refusal(R"({"backoff_ms":86400001})").find("backoff_ms"), std::string::npos);
  EXPECT_NE(refusal(R"({"poll_interval_ms":true})").find("poll_interval_ms"), std::string::npos);
  EXPECT_NE(refusal(R"({"type":"lifo"})").find("must be one of standard, fifo"), std::string::npos);
  EXPECT_NE(refusal(R"({"type":"fifo"})").find("message_group_field"), std::string::npos);
  EXPECT_NE(refusal("[]").find("must be a mapping"), std::string::npos);
}

TEST(QueuePolicy, Subscribers) {
  const Result<Policy> all = Policy::of_subscriber(
      value(
          R"({"topic":"t","queue_config":{"type":"fifo","maxRetries":5,"concurrency":2,"visibilityTimeout":30,
                "delaySeconds":2,"backoffType":"fixed","backoffDelayMs":50,"maxPriority":3}})"),
      {});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->order, Policy::Order::kFifo);
  EXPECT_EQ(*all->group_of(value("1"), "t"), "");
  EXPECT_EQ(all->timeout, 30s);
  EXPECT_EQ(all->delay, 2s);
  EXPECT_EQ(all->retry_delay(9), 50ms);
  const Result<Policy> brief =
      Policy::of_subscriber(value(R"({"queue":"t","max_retries":7,"backoff_ms":3})"), {});
  ASSERT_TRUE(brief);
  EXPECT_EQ(brief->max_attempts, 7);
  EXPECT_EQ(brief->backoff, 3ms);
  EXPECT_EQ(brief->timeout, std::nullopt);
  EXPECT_FALSE(Policy::of_subscriber(value(R"({"queue_config":{"maxretries":7}})"), {}));
  const auto delayed = [](std::int64_t seconds) {
    return Policy::of_subscriber(value(fmt::format(R"({{"queue_config":{{"delaySeconds":{}}}}})", seconds)),
                                 {});
  };
  const std::int64_t most = std::chrono::seconds(kMaxDelay).count();
  EXPECT_EQ(delayed(most)->delay, kMaxDelay);
  EXPECT_FALSE(delayed(most + 1));
  EXPECT_FALSE(Policy::of_subscriber(value(R"({"queue_config":{"delaySeconds":-1}})"), {}));
  EXPECT_FALSE(Policy::of_subscriber(value(R"({"max_retries":0})"), {}));
  EXPECT_EQ(Policy::of_subscriber(value(R"({"queue_config":{"type":"standard"}})"), {})->order,
            Policy::Order::kStandard);
}

TEST(QueuePolicy, BackoffDoublesUpToItsLimit) {
  Policy policy{.backoff = 1000ms};
  EXPECT_EQ(policy.retry_delay(1), 1s);
  EXPECT_EQ(policy.retry_delay(2), 2s);
  EXPECT_EQ(policy.retry_delay(5), 16s);
  EXPECT_EQ(policy.retry_delay(1000), kMaxBackoff);
  policy.backoff = 0ms;
  EXPECT_EQ(policy.retry_delay(1000), 0ms);
}

}  // namespace
}  // namespace chela::bus::queue
