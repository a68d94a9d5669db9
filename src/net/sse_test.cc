#include "net/sse.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace chela::net {
namespace {

using namespace std::string_view_literals;

struct Outcome {
  std::vector<SseEvent> events;
  bool too_large = false;
  bool operator==(const Outcome&) const = default;
};

// Feeds the bytes in pieces of the given sizes, the last of which repeats.
Outcome feed(std::string_view bytes, std::vector<size_t> pieces, size_t limit = kMaxSseEventBytes) {
  SseParser parser(limit);
  Outcome outcome;
  const auto add = [&](std::string_view part) {
    Result<std::vector<SseEvent>> events = parser.feed(part);
    if (events) {
      for (SseEvent& event : *events) outcome.events.push_back(std::move(event));
    } else {
      EXPECT_EQ(events.error().code, Code::kTooLarge);
      outcome.too_large = true;
    }
  };
  for (size_t i = 0; !bytes.empty(); ++i) {
    const size_t piece = std::max<size_t>(pieces[std::min(i, pieces.size() - 1)], 1);
    add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  add("");  // an error behind the last event
  return outcome;
}

std::vector<SseEvent> events(std::string_view bytes) { return feed(bytes, {bytes.size()}).events; }

TEST(SseParser, ReadsTheStandardsExamples) {
  EXPECT_EQ(events("data: YHOO\ndata: +2\ndata: 10\n\n"), (std::vector<SseEvent>{{.data = "YHOO\n+2\n10"}}));
  EXPECT_EQ(
      events(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"),
      (std::vector<SseEvent>{
          {.data = "first event", .id = "1"}, {.data = "second event"}, {.data = " third event"}}));
  EXPECT_EQ(events("data\n\ndata\ndata\n\ndata:"), (std::vector<SseEvent>{{}, {.data = "\n"}}));
}

TEST(SseParser, TakesAllLineEndsAndAByteOrderMark) {
  const std::vector<SseEvent> want{{.event = "e", .data = "a\nb", .retry = 10}, {.data = "c"}};
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    std::string bytes =
        "\xEF\xBB\xBF"
        "event: e" +
        end + "data: a" + end + "data: b" + end + "retry: 10" + end + end + "data: c" + end + end;
    EXPECT_EQ(events(bytes), want);
  }
}

TEST(SseParser, IgnoresWhatItDoesNotKnow) {
  EXPECT_EQ(events("id: a\0b\nretry: 1x\nfoo: bar\nevent: e\n\ndata: x\n\n"sv),
            (std::vector<SseEvent>{{.data = "x"}}));
}

TEST(SseParser, AnEventPastTheLimitIsAnErrorForGood) {
  const std::string bytes = "data: small\n\ndata: " + std::string(100, 'x');
  for (const size_t piece : {1u, 5u, 1000u}) {
    const Outcome outcome = feed(bytes, {piece}, 50);
    EXPECT_EQ(outcome.events.size(), 1u);
    EXPECT_TRUE(outcome.too_large);
  }
  std::string lines = "data: x\n";
  for (int i = 0; i < 100; ++i) lines += "data: x\n";
  EXPECT_TRUE(feed(lines, {3}, 50).too_large);
}

TEST(SseParser, HowTheBytesAreCutDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    const auto part =
        rc::gen::element<std::string>("data", "event", "id", "retry", ":", " ", "x", "\xC3\xA9", "12", "\n",
                                      "\r", "\r\n", "\n\n", "\xEF\xBB\xBF", "data: long text\n");
    std::string bytes;
    for (const std::string& p : *rc::gen::container<std::vector<std::string>>(part)) bytes += p;
    const auto pieces =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 9)));
    const auto limit = *rc::gen::element<size_t>(8, 20, 1000);
    RC_ASSERT(feed(bytes, pieces, limit) == feed(bytes, {bytes.size()}, limit));
  }));
}

TEST(FormatSse, IsReadBackAsItWas) {
  EXPECT_EQ(format_sse("delta", "1.2", "a\nb"), "event: delta\nid: 1.2\ndata: a\ndata: b\n\n");
  EXPECT_EQ(format_sse("", "", ""), "data: \n\n");
  EXPECT_EQ(format_sse("a\nb", "", "x\r\ny\rz"), "event: ab\ndata: x\ndata: y\ndata: z\n\n");
  EXPECT_TRUE(rc::check([](const std::string& text) {
    std::string plain = text;
    std::erase(plain, '\r');
    RC_ASSERT(events(format_sse("e", "7", plain)) ==
              (std::vector<SseEvent>{{.event = "e", .data = plain, .id = "7"}}));
  }));
}

}  // namespace
}  // namespace chela::net
