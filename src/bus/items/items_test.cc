#include "bus/items/items.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/manual_loop.h"
#include "testing/memory_records.h"

namespace chela::bus::items {
namespace {

class ItemsTest : public ::testing::Test {
 protected:
  void load(ItemLimits limits = {}) {
    items = std::make_unique<Items>(limits);
    std::unique_ptr<store::Records> records = runtime::block_on(loop, disk.opener()("items.db")).value();
    ASSERT_TRUE(runtime::block_on(loop, items->load(std::move(records))));
  }
  void reload() {
    runtime::block_on(loop, items->close());
    items.reset();
    load();
  }
  static Address at(std::string_view key, std::string_view group = "g", std::string_view tenant = "r\nann") {
    return {.tenant = tenant, .group = group, .key = key};
  }
  static Text text(std::string value) { return std::make_shared<const std::string>(std::move(value)); }
  Change write(const Address& address, Text value) { return items->write(address, std::move(value)).value(); }
  // Writes and waits.
  Result<> keep(const Address& address, Text value) {
    Result<Change> written = items->write(address, std::move(value));
    if (!written) return fail(written.error());
    if (!written->durable) return {};
    return runtime::block_on(loop, std::move(*written->durable));
  }
  std::string get(const Address& address) const {
    const Text value = items->find(address);
    return value == nullptr ? "none" : *value;
  }
  Code refusal(const Address& address, Text value) {
    const Result<Change> written = items->write(address, std::move(value));
    EXPECT_FALSE(written);
    return written ? Code::kInternal : written.error().code;
  }

  testing::ManualLoop loop;
  testing::MemoryRecords disk{loop};
  std::unique_ptr<Items> items = std::make_unique<Items>();
};

TEST_F(ItemsTest, ValuesAreSetReplacedAndErased) {
  EXPECT_EQ(get(at("k")), "none");
  EXPECT_EQ(write(at("k"), text("1")).before, nullptr);
  EXPECT_EQ(*write(at("k"), text("2")).before, "1");
  EXPECT_EQ(get(at("k")), "2");
  EXPECT_EQ(*write(at("k"), nullptr).before, "2");
  EXPECT_EQ(write(at("k"), nullptr).before, nullptr);
  EXPECT_EQ(get(at("k")), "none");
  EXPECT_EQ(items->size(), 0U);
  EXPECT_TRUE(items->groups("r\nann").empty());
}

TEST_F(ItemsTest, AGroupKeepsTheOrderInWhichItsItemsCame) {
  for (const char* key : {"c", "a", "b"}) write(at(key), text(fmt::format("\"{}\"", key)));
  write(at("a"), text("2"));
  EXPECT_EQ(items->list("r\nann", "g").value(), R"(["c",2,"b"])");
  write(at("c"), nullptr);
  write(at("c"), text("3"));
  EXPECT_EQ(items->list("r\nann", "g").value(), R"([2,"b",3])");
  EXPECT_EQ(items->list("r\nann", "none").value(), "[]");
}

TEST_F(ItemsTest, TenantsAndGroupsAreApart) {
  write(at("k", "g"), text("1"));
  write(at("k", "h"), text("2"));
  write(at("k", "g", "r\nbob"), text("3"));
  EXPECT_EQ(get(at("k", "g")), "1");
  EXPECT_EQ(get(at("k", "h")), "2");
  EXPECT_EQ(get(at("k", "g", "r\nbob")), "3");
  EXPECT_EQ(items->groups("r\nann"), (std::vector<std::string_view>{"g", "h"}));
  EXPECT_EQ(items->groups("r\nann", "h"), (std::vector<std::string_view>{"h"}));
  EXPECT_EQ(items->list("r\nbob", "g").value(), "[3]");
  EXPECT_TRUE(items->groups("r\ncat").empty());
}

TEST_F(ItemsTest, EverythingComesBackAfterARestart) {
  load();
  for (const char* key : {"c", "a", "b"})
    ASSERT_TRUE(keep(at(key, "g\nh"), text(fmt::format("\"{}\"", key))));
  ASSERT_TRUE(keep(at("a", "g\nh"), text("2")));
  ASSERT_TRUE(keep(at("b", "g\nh"), nullptr));
  ASSERT_TRUE(keep(at("", "", "r\nbob"), text("{}")));
  reload();
  EXPECT_EQ(items->list("r\nann", "g\nh").value(), R"(["c",2])");
  EXPECT_EQ(get(at("", "", "r\nbob")), "{}");
  EXPECT_EQ(items->size(), 3U);
  // New ones still come behind.
  ASSERT_TRUE(keep(at("0", "g\nh"), text("0")));
  EXPECT_EQ(items->list("r\nann", "g\nh").value(), R"(["c",2,0])");
}

TEST_F(ItemsTest, AnUpdateIsOneChange) {
  const auto update = [&](std::string_view ops) { return to_text(items->update(at("k"), ops).value()); };
  EXPECT_EQ(update(R"([{"type":"set","path":"n","value":1.50}])"),
            R"({"old_value":null,"new_value":{"n":1.5}})");
  EXPECT_EQ(
      update(R"([{"type":"increment","path":"n","by":1},{"type":"append","path":"n","value":1}])"),
      R"({"old_value":{"n":1.5},"new_value":{"n":2.5},"errors":[{"op_index":1,"code":"append.type_mismatch","message":)"
      R"("a value of type integer cannot be appended to n, which is of type number"}]})");
  EXPECT_EQ(items->update(at("k"), "{}").error().code, Code::kInvalidArgument);
  EXPECT_EQ(get(at("k")), R"({"n":2.5})");
  EXPECT_EQ(to_text(write(at("k"), nullptr)), R"({"old_value":{"n":2.5},"new_value":null})");
  write(at("k"), text(fmt::format("\"{}\"", std::string(kMaxItemBytes - 2, 'x'))));
  const Result<Change> grown = items->update(at("k"), R"([{"type":"append","path":"","value":"y"}])");
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().code, Code::kTooLarge);
}

TEST_F(ItemsTest, AWriteIsDurableNotBeforeTheDiskSaysSo) {
  load();
  disk.hold();
  Change written = write(at("k"), text("1"));
  EXPECT_EQ(get(at("k")), "1");
  std::optional<Result<>> done;
  runtime::TaskGroup group(loop);
  const auto wait = [](Task<Result<>> task, std::optional<Result<>>& out) -> Task<> {
    out = co_await std::move(task);
  };
  group.spawn(wait(std::move(*written.durable), done));
  loop.run_ready();
  EXPECT_FALSE(done);
  disk.release();
  loop.run_ready();
  EXPECT_TRUE(done && *done);
  EXPECT_TRUE(group.empty());
}

TEST_F(ItemsTest, ErasingWhatIsJustBeingErasedWaitsAsWell) {
  load();
  ASSERT_TRUE(keep(at("k"), text("1")));
  disk.hold();
  Change first = write(at("k"), nullptr);
  Change second = write(at("k"), nullptr);
  ASSERT_TRUE(second.durable);
  disk.release();
  EXPECT_TRUE(runtime::block_on(loop, std::move(*first.durable)));
  EXPECT_TRUE(runtime::block_on(loop, std::move(*second.durable)));
  EXPECT_FALSE(write(at("k"), nullptr).durable);
}

TEST_F(ItemsTest, WhatTheDiskRefusesIsTakenBack) {
  load();
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(keep(at(key), text("1")));
  disk.hold();
  std::vector<Task<Result<>>> waiting;
  const auto change = [&](std::string_view key, Text value) {
    waiting.push_back(std::move(*write(at(key), std::move(value)).durable));
  };
  change("a", text("2"));
  change("a", text("3"));
  change("b", nullptr);
  change("b", text("2"));
  change("c", nullptr);
  change("new", text("1"));
  EXPECT_EQ(items->list("r\nann", "g").value(), "[3,2,1]");
  disk.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  disk.release();
  for (const Result<>& done : runtime::block_on(loop, runtime::gather(loop, std::move(waiting))))
    EXPECT_EQ(done.error().message, "disk full");
  EXPECT_EQ(items->list("r\nann", "g").value(), "[1,1,1]");
  EXPECT_EQ(get(at("new")), "none");
  disk.failure.reset();
  reload();
  EXPECT_EQ(items->list("r\nann", "g").value(), "[1,1,1]");
}

TEST_F(ItemsTest, LimitsHoldAndWhatIsFreedCountsNoMore) {
  items = std::make_unique<Items>(ItemLimits{.value_bytes = 10, .key_bytes = 4, .items = 2, .bytes = 20});
  EXPECT_EQ(refusal(at("k"), text("12345678901")), Code::kTooLarge);
  EXPECT_EQ(refusal(at("12345"), text("1")), Code::kTooLarge);
  EXPECT_EQ(refusal(at("k", "12345"), text("1")), Code::kTooLarge);
  write(at("1"), text("1"));
  write(at("2"), text("2"));
  EXPECT_EQ(refusal(at("3"), text("3")), Code::kTooLarge);
  write(at("1"), text("1234567890"));
  EXPECT_EQ(refusal(at("2"), text("123456789")), Code::kTooLarge);
  write(at("1"), nullptr);
  write(at("2"), text("123456789"));
  write(at("3"), text("3"));
  // Another tenant has limits of its own.
  write(at("1", "g", "r\nbob"), text("1234567890"));
}

TEST_F(ItemsTest, TheDefaultLimits) {
  write(at("k"), text(std::string(kMaxItemBytes, '1')));
  EXPECT_EQ(refusal(at("k"), text(std::string(kMaxItemBytes + 1, '1'))), Code::kTooLarge);
  write(at(std::string(kMaxItemKeyBytes, 'k')), text("1"));
  EXPECT_EQ(refusal(at(std::string(kMaxItemKeyBytes + 1, 'k')), text("1")), Code::kTooLarge);
  const ItemLimits limits;
  EXPECT_EQ(limits.items, kMaxItems);
  EXPECT_EQ(limits.bytes, kMaxItemsBytes);
}

TEST_F(ItemsTest, AListThatIsTooLongIsRefused) {
  for (size_t i = 0; i < kMaxListBytes / kMaxItemBytes; ++i)
    write(at(std::to_string(i)), text(std::string(kMaxItemBytes - 1, '1')));
  const Result<std::string> list = items->list("r\nann", "g");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, Code::kTooLarge);
  write(at("0"), nullptr);
  EXPECT_TRUE(items->list("r\nann", "g"));
}

TEST_F(ItemsTest, RecordsOfAnotherKindAreRefused) {
  const std::unique_ptr<store::Records> records = runtime::block_on(loop, disk.opener()("other.db")).value();
  ASSERT_TRUE(runtime::block_on(loop, records->commit({{"queue", "k", "12345678x"}})));
  runtime::block_on(loop, records->close());
  const Result<> loaded =
      runtime::block_on(loop, items->load(runtime::block_on(loop, disk.opener()("other.db")).value()));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("another file_path"), std::string::npos);
}

TEST_F(ItemsTest, AfterTheEndChangesFail) {
  load();
  ASSERT_TRUE(keep(at("k"), text("1")));
  runtime::block_on(loop, items->close());
  EXPECT_EQ(keep(at("k"), text("2")).error().code, Code::kUnavailable);
  EXPECT_EQ(get(at("k")), "1");
}

}  // namespace
}  // namespace chela::bus::items
