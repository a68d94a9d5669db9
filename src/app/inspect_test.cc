#include "app/inspect.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "app/limits.h"

namespace chela::app {
namespace {

struct Seen {
  int code = -1;
  std::string out;
  std::string err;
};

// What is written for the texts, which come from a file without a name.
Seen inspect(std::string_view texts) {
  const int file = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  while (!texts.empty()) {
    const ssize_t written = ::write(file, texts.data(), texts.size());
    if (written <= 0) break;
    texts.remove_prefix(static_cast<size_t>(written));
  }
  ::lseek(file, 0, SEEK_SET);
  Seen seen;
  seen.code = inspect_tool_calls(file, {.out = [&seen](std::string_view text) { seen.out += text; },
                                        .err = [&seen](std::string_view text) { seen.err += text; }});
  ::close(file);
  return seen;
}

TEST(Inspect, EachLineIsAnsweredInOrder) {
  const Seen seen = inspect(
      "{\"text\":\"<tool_call>{\\\"name\\\":\\\"t\\\",\\\"arguments\\\":{\\\"x\\\":1}}</"
      "tool_call>\",\"tools\":[{\"name\":\"t\",\"parameters\":{}}]}\n"
      "\n"
      "no JSON\n"
      "{\"text\":\"hello\",\"tools\":[]}");
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.err, "");
  EXPECT_TRUE(
      seen.out.starts_with("{\"text\":\"\",\"calls\":[{\"name\":\"t\",\"arguments\":{\"x\":1}}]}\n{\"text\":"
                           "\"\",\"calls\":[],\"error\":"));
  EXPECT_TRUE(seen.out.ends_with("\n{\"text\":\"hello\",\"calls\":[]}\n"));
}

TEST(Inspect, ALineThatIsTooLongIsAnError) {
  // Longer than what is read at once, and cut in the text.
  std::string text = "{\"text\":\"" + std::string(kMaxInspectLineBytes, 'x') +
                     "\",\"tools\":[]}\n{\"text\":\"next\",\"tools\":[]}\n";
  static_assert(kInspectReadBytes < kMaxInspectLineBytes);
  const Seen seen = inspect(text);
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(std::count(seen.out.begin(), seen.out.end(), '\n'), 2);
  EXPECT_NE(seen.out.find("\"error\""), std::string::npos);
  EXPECT_TRUE(seen.out.ends_with("{\"text\":\"next\",\"calls\":[]}\n"));
}

TEST(Inspect, AnInputThatCannotBeReadIsAnError) {
  std::string err;
  EXPECT_NE(inspect_tool_calls(
                -1, {.out = [](std::string_view) {}, .err = [&err](std::string_view text) { err += text; }}),
            0);
  EXPECT_NE(err.find("cannot read"), std::string::npos);
}

}  // namespace
}  // namespace chela::app
