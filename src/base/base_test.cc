#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/base64.h"
#include "base/ids.h"
#include "base/likeness.h"
#include "base/limits.h"
#include "base/strings.h"
#include "base/text_parts.h"
#include "base/time.h"
#include "base/utf8.h"

namespace chela {
namespace {

TEST(Error, EveryCodeHasItsRow) {
  for (int i = 0; i <= static_cast<int>(Code::kTimeout); ++i) {
    const Code code = static_cast<Code>(i);
    EXPECT_EQ(code_from_name(code_name(code)), code);
    EXPECT_GE(http_status(code), 400);
    EXPECT_GT(exit_code(code), 0);
  }
  EXPECT_EQ(exit_code(Code::kApprovalPending), 3);
  EXPECT_EQ(http_status(Code::kBudgetExceeded), 402);
}

TEST(Ids, UuidV7CarriesTimeVersionAndVariant) {
  const std::string id = format_uuid_v7(0x0123456789ab, 0xfff, {});
  EXPECT_EQ(id, "01234567-89ab-7fff-8000-000000000000");
  EXPECT_TRUE(is_uuid(id));
  EXPECT_FALSE(is_uuid("01234567-89ab-7fff-8000-00000000000g"));
}

TEST(Ids, ForeignIdsAreBounded) {
  EXPECT_TRUE(is_foreign_id(std::string(kMaxForeignIdBytes, 'a')));
  EXPECT_FALSE(is_foreign_id(std::string(kMaxForeignIdBytes + 1, 'a')));
  EXPECT_FALSE(is_foreign_id(""));
  EXPECT_FALSE(is_foreign_id("a\nb"));
  EXPECT_FALSE(is_foreign_id("\xff"));
}

TEST(Time, Rfc3339RoundTrip) {
  EXPECT_EQ(format_rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(parse_rfc3339("2026-11-22T12:30:15.5+02:30").value(),
            parse_rfc3339("2026-11-22T10:00:15.500Z").value());
  EXPECT_TRUE(rc::check([](std::int32_t seconds, std::uint8_t ms) {
    const UnixMs time = seconds * 1000LL + ms;
    RC_ASSERT(parse_rfc3339(format_rfc3339(time)).value() == time);
  }));
  for (const char* bad :
       {"", "2026-11-22", "2026-02-30T00:00:00Z", "2026-11-22T25:00:00Z", "2026-11-22T10:00:00",
        "2026-11-22T10:00:00.Z", "2026-11-22T10:00:00Zx", "2026-11-22T10:00:00+1"}) {
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
  }
}

TEST(Time, Durations) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(2h), "2h");
  for (const char* bad : {"", "5", "s", "-1s", "1.5s", "99999999999999999d"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Utf8, SanitizeIsValidAndKeepsValidText) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const std::string clean = utf8::sanitize(bytes);
    RC_ASSERT(utf8::valid(clean));
    RC_ASSERT(utf8::sanitize(clean) == clean);
    RC_ASSERT(!utf8::valid(bytes) || clean == bytes);
  }));
  EXPECT_FALSE(utf8::valid("\xed\xa0\x80"));
  EXPECT_FALSE(utf8::valid("\xc0\xaf"));
  EXPECT_EQ(utf8::prefix("a\xE2\x82\xAC", 3), "a");
  EXPECT_EQ(utf8::incomplete_tail("a\xE2\x82"), 2u);
  EXPECT_EQ(utf8::incomplete_tail("a\xE2\x82\xAC"), 0u);
}

// Whole blocks are looked at at once: what lies behind the text is no part of it.
TEST(Utf8, ATextEndsWhereItEnds) {
  const std::string all = std::string(300, 'a') + "\x80";
  for (size_t bytes = 0; bytes <= 300; ++bytes) {
    EXPECT_TRUE(utf8::valid(std::string_view(all).substr(300 - bytes, bytes))) << bytes;
    EXPECT_FALSE(utf8::valid(std::string_view(all).substr(300 - bytes))) << bytes;
  }
}

TEST(Base64, RoundTrip) {
  EXPECT_EQ(base64::encode("fo"), "Zm8=");
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    RC_ASSERT(base64::decode(base64::encode(bytes)).value() == bytes);
    RC_ASSERT(base64::decode(base64::encode_url(bytes)).value() == bytes);
  }));
  EXPECT_FALSE(base64::decode("Zm8*"));
  EXPECT_FALSE(base64::decode("Zm9vY"));
}

TEST(Strings, ConstantTimeEquals) {
  EXPECT_TRUE(strings::constant_time_equals("abc", "abc"));
  EXPECT_FALSE(strings::constant_time_equals("abc", "abd"));
  EXPECT_FALSE(strings::constant_time_equals("abc", "abcabc"));
  EXPECT_FALSE(strings::constant_time_equals("abc", ""));
  EXPECT_TRUE(strings::constant_time_equals("", ""));
}

TEST(Strings, SplitAndNumbers) {
  EXPECT_EQ(strings::split("a,,b", ',').size(), 3u);
  EXPECT_EQ(strings::trim(" \t a b\n"), "a b");
  EXPECT_EQ(strings::parse_int<int>("12"), 12);
  EXPECT_FALSE(strings::parse_int<int>("12x"));
  EXPECT_FALSE(strings::parse_int<int>(""));
  EXPECT_EQ(strings::replace_all("aaa", "a", "aa"), "aaaaaa");
  EXPECT_EQ(strings::replace_all("a-b-", "-", ""), "ab");
  const std::string many(1'000'000, 'a');  // moving the rest for each would take a minute
  EXPECT_EQ(strings::replace_all(many, "a", "bb").size(), 2 * many.size());
}

TEST(Likeness, ClosestNameIsTheOneThatWasMeant) {
  EXPECT_EQ(likeness::distance("", "abc"), 3u);
  EXPECT_EQ(likeness::distance("port", "prot"), 2u);
  EXPECT_EQ(likeness::closest("prot", {"run", "port", "part"}), "port");
  EXPECT_EQ(likeness::closest("thread", {"threads", "tree"}), "threads");
  EXPECT_EQ(likeness::closest("ab", {"xy"}), "");
  EXPECT_EQ(likeness::closest("", {"a"}), "");
  EXPECT_EQ(likeness::closest(std::string(65, 'a'), {std::string(66, 'a')}), "");
}

TEST(TextParts, AreOneText) {
  const TextParts parts{.before = "{\"a\":", .middle = "[1]", .after = "}"};
  EXPECT_EQ(parts.joined(), R"({"a":[1]})");
  EXPECT_EQ(parts.size(), parts.joined().size());
  EXPECT_EQ(TextParts{.before = "x"}.joined(), "x");
}

}  // namespace
}  // namespace chela
