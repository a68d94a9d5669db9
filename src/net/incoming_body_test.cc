#include "net/incoming_body.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::net {
namespace {

class IncomingBodyTest : public ::testing::Test {
 protected:
  IncomingBodyTest() {
    body->on_wanted([this] { ++wanted; });
  }
  // Reads once beside the test.
  void read(std::stop_token stop = {}) { tasks.spawn(read_one(stop)); }
  Task<> read_one(std::stop_token stop) {
    Result<std::optional<std::string>> got = co_await body->read(stop);
    pieces.push_back(got ? got->value_or("<end>") : std::string(code_name(got.error().code)));
  }
  std::vector<std::string> run() {
    loop.run_ready();
    return std::exchange(pieces, {});
  }

  testing::ManualLoop loop;
  std::shared_ptr<IncomingBody> body = std::make_shared<IncomingBody>(loop);
  runtime::TaskGroup tasks{loop};
  int wanted = 0;
  std::vector<std::string> pieces;
};

using Pieces = std::vector<std::string>;

TEST_F(IncomingBodyTest, GivesWhatHasComeSinceTheLastTime) {
  body->add("one");
  body->add("");
  body->add(" two");
  EXPECT_EQ(body->ahead(), 7U);
  read();
  EXPECT_EQ(run(), Pieces{"one two"});
  EXPECT_EQ(body->ahead(), 0U);
  EXPECT_EQ(wanted, 1) << "there is room again";
  read();
  EXPECT_EQ(run(), Pieces{});
  EXPECT_EQ(wanted, 2) << "a reader waits";
  body->add("three");
  EXPECT_EQ(run(), Pieces{"three"});
}

TEST_F(IncomingBodyTest, TheEndComesAfterWhatWasAdded) {
  body->add("last");
  body->finish();
  body->add("too late");
  read();
  EXPECT_EQ(run(), Pieces{"last"});
  read();
  read();
  EXPECT_EQ(run(), (Pieces{"<end>", "<end>"}));
  EXPECT_EQ(wanted, 0) << "nothing is asked for after the end";
}

TEST_F(IncomingBodyTest, AWaitingReaderHearsOfTheEnd) {
  read();
  body->finish();
  EXPECT_EQ(run(), Pieces{"<end>"});
}

TEST_F(IncomingBodyTest, ACutLosesWhatHasCome) {
  body->add("half");
  body->cut({.code = Code::kTimeout, .message = "stalled"});
  body->finish();
  read();
  read();
  EXPECT_EQ(run(), (Pieces{"timeout", "timeout"}));
  EXPECT_EQ(body->ahead(), 0U);
}

TEST_F(IncomingBodyTest, AReaderCanBeStoppedAndAnotherGoOn) {
  std::stop_source stop;
  read(stop.get_token());
  EXPECT_EQ(run(), Pieces{});
  stop.request_stop();
  EXPECT_EQ(run(), Pieces{"cancelled"});
  read(stop.get_token());
  EXPECT_EQ(run(), Pieces{"cancelled"});
  read();
  EXPECT_EQ(run(), Pieces{});
  body->add("more");
  EXPECT_EQ(run(), Pieces{"more"});
}

}  // namespace
}  // namespace chela::net
