#pragma once

// What every adapter of store/records.h does. An adapter's test includes this and instantiates it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "runtime/task_group.h"
#include "store/records.h"

namespace chela::store {

// An empty folder of the adapter, with a loop that block_on() may run.
class RecordsFixture {
 public:
  virtual ~RecordsFixture() = default;
  virtual runtime::EventLoop& loop() = 0;
  virtual const OpenRecords& open() = 0;
  virtual std::filesystem::path folder() = 0;
};

using RecordsFactory = std::unique_ptr<RecordsFixture> (*)();

class RecordsConformance : public ::testing::TestWithParam<RecordsFactory> {
 protected:
  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(fixture_->loop(), std::move(task));
  }
  void open() {
    Result<std::unique_ptr<Records>> opened = run(fixture_->open()(file_));
    ASSERT_TRUE(opened) << opened.error().text();
    records_ = std::move(*opened);
  }
  void reopen() {
    run(records_->close());
    records_.reset();
    open();
  }
  void SetUp() override { open(); }

  Code refusal(std::vector<RecordChange> changes) {
    const Result<> done = run(records_->commit(std::move(changes)));
    EXPECT_FALSE(done);
    return done ? Code::kInternal : done.error().code;
  }
  // "space/key=value" of all records behind `after`.
  std::vector<std::string> texts(std::string space = "", std::optional<RecordKey> after = std::nullopt,
                                 size_t limit = 1000) {
    std::vector<std::string> all;
    const Result<std::vector<Record>> page = run(records_->scan(std::move(space), std::move(after), limit));
    EXPECT_TRUE(page);
    if (page) {
      for (const Record& record : *page) all.push_back(record.space + "/" + record.key + "=" + record.value);
    }
    return all;
  }
  using Texts = std::vector<std::string>;

  std::unique_ptr<RecordsFixture> fixture_ = GetParam()();
  const std::filesystem::path file_ = fixture_->folder() / "deep" / "er" / "records.db";
  std::unique_ptr<Records> records_;
};

TEST_P(RecordsConformance, WhatIsCommittedIsThereInOrder) {
  ASSERT_TRUE(run(records_->commit({{"b", "1", "x"}, {"a", "2", "y"}, {"a", "10", "z"}, {"a", "", "none"}})));
  ASSERT_TRUE(run(records_->commit(
      {{"a", "2", "new"}, {"b", "1", std::nullopt}, {"b", "0", "w"}, {"c", "gone", std::nullopt}})));
  const Texts expected{"a/=none", "a/10=z", "a/2=new", "b/0=w"};
  EXPECT_EQ(texts(), expected);
  EXPECT_EQ(texts("a"), (Texts{"a/=none", "a/10=z", "a/2=new"}));
  EXPECT_EQ(texts("a", RecordKey{"a", ""}), (Texts{"a/10=z", "a/2=new"}));
  EXPECT_EQ(texts("", RecordKey{"a", "10"}), (Texts{"a/2=new", "b/0=w"}));
  EXPECT_EQ(texts("", std::nullopt, 2), (Texts{"a/=none", "a/10=z"}));
  EXPECT_EQ(texts("none"), Texts{});
  reopen();
  EXPECT_EQ(texts(), expected);
}

TEST_P(RecordsConformance, LaterChangesOfOneCommitWin) {
  ASSERT_TRUE(run(records_->commit({{"a", "k", "1"},
                                    {"a", "k", std::nullopt},
                                    {"a", "k", "2"},
                                    {"a", "j", "1"},
                                    {"a", "j", std::nullopt}})));
  EXPECT_EQ(texts(), Texts{"a/k=2"});
}

TEST_P(RecordsConformance, AnyBytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  ASSERT_TRUE(run(records_->commit({{bytes, bytes, bytes}, {"\xff", "k", ""}})));
  reopen();
  const Result<std::vector<Record>> all = run(records_->scan("", std::nullopt, 10));
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].space, bytes);
  EXPECT_EQ((*all)[0].key, bytes);
  EXPECT_EQ((*all)[0].value, bytes);
  EXPECT_EQ((*all)[1].space, "\xff");
  EXPECT_EQ((*all)[1].value, "");
}

TEST_P(RecordsConformance, ConcurrentCommitsKeepTheOrderOfTheirCalls) {
  std::vector<Task<Result<>>> commits;
  for (int i = 0; i < 100; ++i)
    commits.push_back(records_->commit({{"a", "same", std::to_string(i)}, {"a", std::to_string(i), ""}}));
  for (const Result<>& done : run(runtime::gather(fixture_->loop(), std::move(commits)))) EXPECT_TRUE(done);
  EXPECT_EQ(texts("a", RecordKey{"a", "99"}), Texts{"a/same=99"});
  EXPECT_EQ(texts().size(), 101U);
}

TEST_P(RecordsConformance, AScanSeesWhatWasQueuedBefore) {
  Task<Result<>> commit = records_->commit({{"a", "k", "1"}});
  EXPECT_EQ(texts(), Texts{"a/k=1"});
  EXPECT_TRUE(run(std::move(commit)));
}

TEST_P(RecordsConformance, WhatIsNoRecordIsRefusedAndNothingOfItsCommitRemains) {
  EXPECT_EQ(refusal({{"a", "k", "1"}, {"", "k", "1"}}), Code::kInvalidArgument);
  EXPECT_EQ(refusal({{"a", "k", "1"}, {std::string(kMaxRecordKeyBytes + 1, 's'), "k", "1"}}),
            Code::kTooLarge);
  EXPECT_EQ(refusal({{"a", "k", "1"}, {"a", std::string(kMaxRecordKeyBytes + 1, 'k'), "1"}}),
            Code::kTooLarge);
  EXPECT_EQ(refusal({{"a", "k", "1"}, {"a", "j", std::string(kMaxRecordBytes + 1, 'v')}}), Code::kTooLarge);
  EXPECT_EQ(refusal(std::vector<RecordChange>(kMaxRecordChanges + 1, {"a", "k", "1"})), Code::kTooLarge);
  EXPECT_EQ(texts(), Texts{});
  const std::string longest(kMaxRecordKeyBytes, 'k');
  ASSERT_TRUE(run(records_->commit({{longest, longest, std::string(kMaxRecordBytes, 'v')}})));
  ASSERT_TRUE(run(records_->commit(std::vector<RecordChange>(kMaxRecordChanges, {"a", "k", "1"}))));
}

TEST_P(RecordsConformance, APageOfLargeRecordsIsShortAndAllOfThemCome) {
  const std::string half(kMaxRecordPageBytes / 2, 'v');
  for (const char* key : {"1", "2", "3", "4", "5"}) ASSERT_TRUE(run(records_->commit({{"a", key, half}})));
  EXPECT_LT(texts().size(), 4U);
  std::string keys;
  ASSERT_TRUE(run(each_record(*records_, "", [&keys](Record record) -> Result<> {
    keys += record.key;
    return {};
  })));
  EXPECT_EQ(keys, "12345");
  const Result<> ended =
      run(each_record(*records_, "a", [](Record) -> Result<> { return fail(Code::kInternal, "enough"); }));
  EXPECT_EQ(ended.error().message, "enough");
}

TEST_P(RecordsConformance, AFileHasOneOwner) {
  ASSERT_TRUE(run(records_->commit({{"a", "k", "1"}})));
  const Result<std::unique_ptr<Records>> second = run(fixture_->open()(file_));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_NE(second.error().message.find("records.db is in use"), std::string::npos) << second.error().message;
  Result<std::unique_ptr<Records>> other = run(fixture_->open()(fixture_->folder() / "other.db"));
  ASSERT_TRUE(other);
  EXPECT_TRUE(run((*other)->scan("", std::nullopt, 10))->empty());
  reopen();
  EXPECT_EQ(texts(), Texts{"a/k=1"});
}

TEST_P(RecordsConformance, CallsFailAfterTheEnd) {
  Task<Result<>> last = records_->commit({{"a", "k", "1"}});
  run(records_->close());
  EXPECT_TRUE(run(std::move(last)));
  EXPECT_EQ(refusal({{"a", "k", "2"}}), Code::kUnavailable);
  EXPECT_EQ(run(records_->scan("", std::nullopt, 1)).error().code, Code::kUnavailable);
  open();
  EXPECT_EQ(texts(), Texts{"a/k=1"});
}

}  // namespace chela::store
