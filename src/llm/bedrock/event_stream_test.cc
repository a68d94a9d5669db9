#include "llm/bedrock/event_stream.h"

#include <gtest/gtest.h>

#include "testing/scripted_wire.h"

namespace chela::llm::bedrock {
namespace {

std::string stream() {
  std::string out;
  for (const std::string& event : testing::events_over(testing::Wire::kBedrock, {.text = "a b"}, {}))
    out += event;
  return out;
}

TEST(EventStream, FramesHoweverTheyAreCut) {
  const std::string bytes = stream();
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{7}}) {
    FrameParser parser;
    std::vector<Frame> all;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const Result<std::vector<Frame>> frames = parser.feed(std::string_view(bytes).substr(at, piece));
      ASSERT_TRUE(frames) << frames.error().text();
      all.insert(all.end(), frames->begin(), frames->end());
    }
    ASSERT_EQ(all.size(), 6u);
    EXPECT_EQ(all[1].headers.at(":event-type"), "contentBlockDelta");
    EXPECT_EQ(all[1].payload, R"({"contentBlockIndex":0,"delta":{"text":"a"}})");
    EXPECT_FALSE(parser.in_midst());
  }
}

TEST(EventStream, AnyChangedByteIsSeen) {
  const std::string bytes = stream();
  const size_t first = 1 + bytes.find("\"role\":\"assistant\"");
  for (size_t at = 0; at < first; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    const Result<std::vector<Frame>> frames = FrameParser().feed(changed);
    EXPECT_TRUE(!frames && frames.error().code == Code::kUpstream) << at;
  }
}

TEST(EventStream, LengthsAndHeadersThatCannotBe) {
  // Made by another program, with right checksums: shorter than it can be, headers longer than the message, larger than allowed.
  const std::vector<std::string> heads{std::string("\000\000\000\017\000\000\000\000\347\162\110\270", 12),
                                       std::string("\000\000\000\144\000\000\000\125\022\221\253\237", 12),
                                       std::string("\000\100\000\001\000\000\000\000\034\111\203\240", 12)};
  for (const std::string& head : heads) EXPECT_FALSE(FrameParser().feed(head));
  // A name, a type and values that do not fit.
  const std::vector<std::string> frames{
      std::string("\000\000\000\023\000\000\000\003\333\153\143\201\005\141\142\273\313\327\224", 19),
      std::string("\000\000\000\023\000\000\000\003\333\153\143\201\001\141\143\313\305\117\336", 19),
      std::string(
          "\000\000\000\027\000\000\000\007\051\206\001\130\001\141\007\000\005\141\142\074\122\101\015", 23),
      std::string("\000\000\000\024\000\000\000\004\367\057\052\062\001\141\004\000\341\241\114\363", 20)};
  for (const std::string& frame : frames) EXPECT_FALSE(FrameParser().feed(frame));
  // Every type that a header may have; texts are kept.
  const std::string all = std::string(
      "\000\000\000\137\000\000\000\115\327\014\272\136\001\141\000\001\142\001\001\143\002\170\001\144\003"
      "\170\170\001\145\004\170\170\170\170\001\146\005\170\170\170\170\170\170\170\170\001\147\006\000\002"
      "\150\151\001\150\007\000\002\150\151\001\151\010\170\170\170\170\170\170\170\170\001\152\011\170\170"
      "\170\170\170\170\170\170\170\170\170\170\170\170\170\170\173\175\336\075\141\164",
      95);
  const Result<std::vector<Frame>> read = FrameParser().feed(all);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().headers, (std::map<std::string, std::string, std::less<>>{{"h", "hi"}}));
  static_assert(wire::kMaxEventBytes == 4 * 1024 * 1024);
  FrameParser unfinished;
  EXPECT_TRUE(unfinished.feed(std::string_view("\0\0", 2)));
  EXPECT_TRUE(unfinished.in_midst());
}

}  // namespace
}  // namespace chela::llm::bedrock
