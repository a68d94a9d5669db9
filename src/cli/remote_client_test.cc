#include "cli/remote_client.h"

#include <gtest/gtest.h>

#include "api/operations.h"
#include "cli/commands.h"

namespace chela::cli {
namespace {

json::Value parsed(std::string_view text) { return *json::parse(text); }

class RemoteClientTest : public ::testing::Test {
 protected:
  RemoteClientTest() { EXPECT_TRUE(api::add_operations(registry_, services_)); }
  api::Services services_;  // nothing: only the declarations are used
  op::Registry registry_;
};

TEST_F(RemoteClientTest, RequestsFollowTheRoute) {
  const auto log = make_request(registry_, "thread::log", parsed(R"({"id": "a/b", "after": 3})"));
  ASSERT_TRUE(log);
  EXPECT_EQ(log->method, "GET");
  EXPECT_EQ(log->url, "http://chela/api/threads/a%2Fb/log?after=3");
  const auto send = make_request(registry_, "chat::send", parsed(R"({"content": "hi"})"));
  ASSERT_TRUE(send);
  EXPECT_EQ(send->url, "http://chela/api/chat/send");
  EXPECT_EQ(send->body, R"({"content":"hi"})");
  EXPECT_EQ(make_request(registry_, "thread::log", parsed("{}")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(make_request(registry_, "no::such", parsed("{}")).error().code, Code::kNotFound);
}

TEST_F(RemoteClientTest, ErrorsKeepTheirCode) {
  const Error error = error_from_response(
      404, R"({"error": {"code": "not_found", "message": "no thread", "context": {"id": "t"}}})");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(error.message, "no thread");
  EXPECT_EQ(error.detail("id"), "t");
  EXPECT_EQ(error_from_response(500, "oops").code, Code::kUpstream);
}

TEST(Texts, AreForPeople) {
  const std::string threads = text_for("thread::list", parsed(R"({"threads": [
    {"id": "t1", "state": "Idle", "turn_count": 2, "updated_at": "u", "channel": "cli", "title": "a\nb"}]})"));
  EXPECT_EQ(threads, "ID  STATE  TURNS  UPDATED  CHANNEL  TITLE\nt1  Idle   2      u        cli      a b\n");
  EXPECT_EQ(text_for("thread::list", parsed(R"({"threads": []})")), "none\n");
  EXPECT_EQ(
      text_for(
          "thread::list",
          parsed(R"({"threads": [], "assistant_thread": {"thread_type": "assistant", "turn_count": 0}})")),
      "none\n");
  EXPECT_EQ(
      text_for("thread::replay", parsed(R"({"records": 3, "effects": 2, "requests": 1, "differences": []})")),
      "3 records: 2 effects and 1 model requests compared\nno difference\n");
  EXPECT_EQ(text_for("other::thing", parsed(R"({"a": 1})")), "{\n  \"a\": 1\n}\n");
}

}  // namespace
}  // namespace chela::cli
