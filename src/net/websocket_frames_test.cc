#include "net/websocket_frames.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <vector>

namespace chela::net {
namespace {

std::string frame(unsigned first, std::string_view payload, std::string_view mask = "\x11\x22\x33\x44") {
  std::string out(1, static_cast<char>(first));
  if (payload.size() < 126) {
    out += static_cast<char>(0x80 | payload.size());
  } else {
    out += '\xfe';
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
  }
  out += mask;
  for (size_t i = 0; i < payload.size(); ++i) out += static_cast<char>(payload[i] ^ mask[i % 4]);
  return out;
}

// What a text of bytes says when it comes in pieces of one length: "t:..." and "b:..." messages, "p:", "o", "c:" and "!code".
std::vector<std::string> events(std::string_view bytes, size_t piece, size_t max = 1000) {
  FrameReader reader(max);
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view part = bytes.substr(at, piece);
    for (bool more = true; more;) {
      switch (reader.next(part)) {
        case FrameReader::Event::kNeedMore:
          more = false;
          break;
        case FrameReader::Event::kMessage: {
          const Message message = reader.take_message();
          out.push_back((message.kind == MessageKind::kText ? "t:" : "b:") + message.data);
          break;
        }
        case FrameReader::Event::kPing:
          out.push_back("p:" + std::string(reader.control()));
          break;
        case FrameReader::Event::kPong:
          out.push_back("o");
          break;
        case FrameReader::Event::kClose:
          out.push_back("c:" + std::string(reader.control()));
          return out;
        case FrameReader::Event::kBroken:
          out.push_back("!" + std::to_string(reader.fault()));
          return out;
      }
    }
  }
  return out;
}

using Events = std::vector<std::string>;

TEST(FrameReader, ReadsMessagesFragmentsAndControlFramesBetween) {
  const std::string bytes = frame(0x81, "one") + frame(0x01, "t") + frame(0x89, "ping") + frame(0x00, "w") +
                            frame(0x8a, "") + frame(0x80, "o") + frame(0x82, "") + frame(0x88, "\x03\xe8");
  const Events whole = events(bytes, bytes.size());
  EXPECT_EQ(whole, (Events{"t:one", "p:ping", "o", "t:two", "b:", "c:\x03\xe8"}));
}

TEST(FrameReader, BreachesHaveTheirCodes) {
  const auto only = [](std::string_view bytes) { return events(bytes, 4096).back(); };
  EXPECT_EQ(only(frame(0xc1, "x")), "!1002");                     // a reserved bit
  EXPECT_EQ(only(std::string("\x81\x01", 2)), "!1002");           // not masked
  EXPECT_EQ(only(frame(0x83, "x")), "!1002");                     // no such kind
  EXPECT_EQ(only(frame(0x8b, "")), "!1002");                      // no such control frame
  EXPECT_EQ(only(frame(0x09, "x")), "!1002");                     // a control frame in pieces
  EXPECT_EQ(only(frame(0x89, std::string(126, 'x'))), "!1002");   // or too long
  EXPECT_EQ(only(frame(0x80, "x")), "!1002");                     // continues nothing
  EXPECT_EQ(only(frame(0x01, "x") + frame(0x81, "y")), "!1002");  // begins within another
  EXPECT_EQ(only(frame(0x88, "x")), "!1002");                     // half a code
  EXPECT_EQ(only(frame(0x88, "\x03\xed")), "!1002");              // 1005 is never sent
  EXPECT_EQ(only(frame(0x88, "\x03\xe8\xff")), "!1007");          // a reason that is no text
  EXPECT_EQ(only(frame(0x81, "\xff")), "!1007");
  EXPECT_EQ(only(frame(0x82, "\xff")), "b:\xff");
}

TEST(FrameReader, TheLimitCountsWholeMessagesAndTrustsNoLength) {
  EXPECT_EQ(events(frame(0x81, std::string(1000, 'x')), 7).front().size(), 1002u);
  EXPECT_EQ(events(frame(0x81, std::string(1001, 'x')), 7), Events{"!1009"});
  EXPECT_EQ(events(frame(0x01, std::string(600, 'x')) + frame(0x80, std::string(600, 'x')), 64),
            Events{"!1009"});
  const std::string huge = std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10) + "mask";
  EXPECT_EQ(events(huge, 3), Events{"!1009"});
}

TEST(FrameReader, AServersFramesHaveNoMask) {
  FrameReader reader(1000, WebSocketEnd::kServer);
  FrameHead head = frame_head(WebSocketEnd::kServer, 0x81, 300);
  const std::string bytes = head.bytes + std::string(300, 'x');
  std::string_view left = bytes;
  ASSERT_EQ(reader.next(left), FrameReader::Event::kMessage);
  EXPECT_EQ(reader.take_message().data, std::string(300, 'x'));
  const std::string masked = frame(0x81, "x");
  left = masked;
  EXPECT_EQ(reader.next(left), FrameReader::Event::kBroken);
  EXPECT_EQ(reader.fault(), 1002);
}

TEST(FrameHead, AClientsFramesAreMaskedAnewEachTime) {
  std::set<std::string> masks;
  for (const size_t size : {0u, 125u, 126u, 999u}) {
    const FrameHead head = frame_head(WebSocketEnd::kClient, 0x82, size);
    masks.emplace(head.mask.data(), head.mask.size());
    std::string bytes = head.bytes;
    append_masked(bytes, std::string(size, 'y'), head.mask);
    EXPECT_EQ(events(bytes, 11), Events{"b:" + std::string(size, 'y')});
  }
  EXPECT_GT(masks.size(), 1u);
}

TEST(FrameReaderProperty, PiecesChangeNothing) {
  EXPECT_TRUE(rc::check([] {
    std::string bytes;
    for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
      const unsigned first =
          *rc::gen::elementOf(std::vector<unsigned>{0x81, 0x82, 0x01, 0x00, 0x80, 0x89, 0x8a, 0x88});
      const std::string payload(static_cast<size_t>(*rc::gen::inRange(0, 200)),
                                *rc::gen::inRange<char>(0, 127));
      const std::string mask = *rc::gen::container<std::string>(4, rc::gen::arbitrary<char>());
      bytes += frame(first, payload, mask);
    }
    const size_t piece = *rc::gen::inRange<size_t>(1, 40);
    RC_ASSERT(events(bytes, bytes.size()) == events(bytes, piece));
  }));
}

}  // namespace
}  // namespace chela::net
