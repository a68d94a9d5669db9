#include "bus/wire.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <rapidcheck.h>

#include "base/json.h"
#include "bus/limits.h"

namespace chela::bus {
namespace {

Result<Envelope> read(std::string_view text) {
  static Scanner scanner;
  return Envelope::read(scanner, text);
}

TEST(Wire, MembersKeepTheirBytes) {
  Result<Envelope> frame = read(
      R"( { "type" : "invokefunction", "data" : { "a" : [1.50, "\u00e9", {}] } , "n" : -0.0e+7,"b":true } )");
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->type(), FrameType::kInvokeFunction);
  EXPECT_EQ(frame->raw("data"), R"({ "a" : [1.50, "\u00e9", {}] })");
  EXPECT_EQ(frame->raw("n"), "-0.0e+7");
  EXPECT_EQ(frame->raw("b"), "true");
  EXPECT_EQ(frame->raw("missing"), std::nullopt);
}

TEST(Wire, NullIsAbsentAndTheLastOfDuplicatesWins) {
  Result<Envelope> frame = read(R"({"a":null,"b":1,"b":2})");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->raw("a"), std::nullopt);
  EXPECT_EQ(frame->raw_or_null("a"), "null");
  EXPECT_EQ(frame->raw("b"), "2");
  EXPECT_EQ(frame->type(), FrameType::kUnknown);
}

TEST(Wire, TextsAreUnescapedAndBounded) {
  Result<Envelope> frame = read(R"({"a":"x\ny","b":"plain","c":7,"id":"bad\u0001id","e":""})");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->text("a", 10), "x\ny");
  EXPECT_EQ(frame->text("b", 5), "plain");
  EXPECT_EQ(frame->text("b", 4), std::nullopt);
  EXPECT_EQ(frame->text("c", 10), std::nullopt);
  EXPECT_FALSE(frame->id("id"));
  EXPECT_FALSE(frame->id("e"));
  EXPECT_TRUE(frame->id("b"));
}

TEST(Wire, WhatIsNoObjectIsRefused) {
  for (const std::string_view text : {"",
                                      " ",
                                      "[]",
                                      "1",
                                      "null",
                                      "\"a\"",
                                      "{",
                                      "}",
                                      "{}}",
                                      "{}{}",
                                      "{]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{\"a\" 1}",
                                      "{\"a\":1 \"b\":2}",
                                      "{a:1}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":[1 2]}",
                                      "{\"a\":[1}}",
                                      "{\"a\":{]}",
                                      "{\"a\":nul}",
                                      "{\"a\":nullx}",
                                      "{\"a\":tru e}",
                                      "{\"a\":01}",
                                      "{\"a\":1.}",
                                      "{\"a\":.5}",
                                      "{\"a\":1e}",
                                      "{\"a\":+1}",
                                      "{\"a\":-}",
                                      "{\"a\":0x1}",
                                      "{\"a\":1\"b\":2}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12g4\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"b}",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":\"b\"c}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"a\":\"\xed\xa0\x80\"}",
                                      "{'a':1}",
                                      "{\"a\":NaN}",
                                      "{\"a\":1}x",
                                      "\xef\xbb\xbf{}",
                                      "{\"a\":\"b\\\"}"}) {
    EXPECT_FALSE(read(text)) << text;
  }
}

TEST(Wire, DepthMembersAndLengthAreLimited) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(read(nested(kMaxJsonDepth)));
  EXPECT_FALSE(read(nested(kMaxJsonDepth + 1)));
  const auto wide = [](size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += fmt::format("{}\"k{}\":0", i == 0 ? "" : ",", i);
    return text + "}";
  };
  EXPECT_TRUE(read(wide(kMaxFrameMembers)));
  EXPECT_FALSE(read(wide(kMaxFrameMembers + 1)));
  const auto long_frame = [](size_t bytes) { return "{\"a\":\"" + std::string(bytes - 8, 'x') + "\"}"; };
  EXPECT_TRUE(read(long_frame(kMaxFrameBytes)));
  EXPECT_EQ(read(long_frame(kMaxFrameBytes + 1)).error().code, Code::kTooLarge);
}

TEST(Wire, WhatALongFrameNeededIsNotKept) {
  const auto frame = [](size_t bytes) { return "{\"a\":\"" + std::string(bytes - 8, 'x') + "\"}"; };
  const auto held = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(frame(kKeptScannerBytes)));
  const size_t before = held();
  if (before == 0) GTEST_SKIP() << "a sanitizer keeps the memory";
  for (const size_t bytes : {kKeptScannerBytes + 1, kMaxFrameBytes, kKeptScannerBytes}) {
    const std::string text = frame(bytes);
    const Result<std::span<const RawMember>> members = scanner.scan(text);
    ASSERT_TRUE(members) << members.error().text();
    EXPECT_EQ(members->size(), 1u);
  }
  EXPECT_LT(held(), before + kKeptScannerBytes);
}

TEST(Wire, TheCallerIsSplicedIntoObjectsOnly) {
  const auto invoke = [](std::string_view data) {
    const write::Relay relay =
        write::invoke({.invocation_id = "i", .function_id = "f", .data = data, .caller_worker = "w1"});
    const std::string out = relay.parts().joined();
    const Result<json::Value> parsed = json::parse(out);
    return parsed ? json::write(*parsed->find("data")) : out;
  };
  EXPECT_EQ(invoke("{}"), R"({"_caller_worker_id":"w1"})");
  EXPECT_EQ(invoke("{ \n}"), R"({"_caller_worker_id":"w1"})");
  EXPECT_EQ(invoke(R"({"a":1})"), R"({"a":1,"_caller_worker_id":"w1"})");
  EXPECT_EQ(invoke("[1]"), "[1]");
  EXPECT_EQ(invoke("null"), "null");
  // One that is there already is replaced, deeper ones are left alone.
  EXPECT_EQ(invoke(R"({"_caller_worker_id":"forged","a":{"_caller_worker_id":"x"}})"),
            R"({"a":{"_caller_worker_id":"x"},"_caller_worker_id":"w1"})");
}

TEST(Wire, ResultsLeaveNullOut) {
  const write::Relay relay = write::result({.invocation_id = "i\"", .function_id = "f", .result = "null"});
  EXPECT_EQ(relay.parts().joined(), R"({"type":"invocationresult","invocation_id":"i\"","function_id":"f"})");
}

// Numbers and words, in the envelope and inside a value, whatever stands behind them: as the parser has it.
TEST(Wire, ScalarsAreJudgedAsTheParserDoes) {
  std::vector<std::string> scalars = {"true",      "false", "null", "tru", "truee", "nul",   "fals",
                                      "True",      "-",     "+1",   ".5",  "5.",    "1e5",   "1E-2",
                                      "1e",        "1.e1",  "--1",  "1-",  "0x1",   "1.2.3", "12345678.5",
                                      "123456789", "0",     "-0",   "00"};
  constexpr std::string_view kLetters = "019.-e/:";
  for (const char a : kLetters) {
    for (const char b : kLetters) {
      for (const char c : kLetters) scalars.push_back({a, b, c});
      scalars.push_back({a, b});
      scalars.push_back("1234" + std::string{a, b} + "78");
    }
  }
  for (const std::string& scalar : scalars) {
    for (const std::string_view shape :
         {R"({{"a":{}}})", R"({{"a":{} }})", R"({{"a":[{}]}})", R"({{"a":[1,{} ,2]}})",
          R"({{"a":{{"b":{},"c":[]}}}})",
          R"({{"a":{{"b":1,"c":{}}},"long enough":"for all to be read at once"}})"}) {
      const std::string text = fmt::format(fmt::runtime(shape), scalar);
      EXPECT_EQ(read(text).has_value(), json::parse(text).has_value()) << text;
    }
  }
}

// Any JSON value survives as its own bytes, whatever stands around it.
TEST(WireProperty, ValuesComeBackAsTheyWere) {
  const auto random_value = [](auto&& self, int depth) -> json::Value {
    switch (*rc::gen::inRange(0, depth > 4 ? 5 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return *rc::gen::arbitrary<bool>();
      case 2:
        return *rc::gen::arbitrary<std::int64_t>();
      case 3:
        return *rc::gen::arbitrary<double>();
      case 4:
        return json::Value(*rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
      case 5: {
        json::Value array = json::Value::array();
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) array.push_back(self(self, depth + 1));
        return array;
      }
      default: {
        json::Value object = json::Value::object();
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
          object.set(*rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)), self(self, depth + 1));
        return object;
      }
    }
  };
  EXPECT_TRUE(rc::check([&] {
    const std::string data = json::write_pretty(random_value(random_value, 0));
    const std::string text = fmt::format("{{\"x\":[],\"data\":{} ,\"type\":\"ping\"}}", data);
    const Result<Envelope> frame = read(text);
    RC_ASSERT(frame.has_value());
    RC_ASSERT(*frame->raw_or_null("data") == data);
    RC_ASSERT(frame->type() == FrameType::kPing);
  }));
}

// What the scanner takes, a JSON parser takes, and the other way round.
TEST(WireProperty, AgreesWithTheParserOnDamagedFrames) {
  const std::string whole =
      R"({"type":"invokefunction","data":{"a":[1,-2.5e3,"t\u0041\\",null,true,{"b":[]}],"c":[0.25,120,12345678,9.5, false]},"id":"f::g"})";
  EXPECT_TRUE(rc::check([&] {
    std::string text = whole;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
      const size_t at = *rc::gen::inRange<size_t>(0, text.size());
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text[at] = *rc::gen::elementOf(std::string("{}[],:\"\\0e1 n\n.-5t"));
          break;
        default:
          text.insert(at, 1, *rc::gen::elementOf(std::string("{}[],:\"\\0e1 n\n.-5t")));
      }
    }
    const Result<json::Value> parsed = json::parse(text);
    RC_ASSERT(read(text).has_value() == (parsed.has_value() && parsed->is_object()));
  }));
}

}  // namespace
}  // namespace chela::bus
