#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "base/base64.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "crypto/seal.h"

namespace chela::crypto {
namespace {

// The examples of FIPS 180-4, RFC 4231 (test cases 2 and 6) and RFC 7693 (b2sum -l 256 for the empty text).
TEST(Hash, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("").size(), 32u);
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      to_hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(content_hash(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

TEST(Hash, ReadsBytesNotText) {
  rc::check("a NUL or any other byte counts", [](const std::string& bytes) {
    RC_ASSERT(content_hash(bytes) != content_hash(bytes + '\0'));
    RC_ASSERT(sha256(bytes) != sha256(bytes + '\0'));
  });
}

TEST(Random, GivesWhatIsAskedAndNeverTheSame) {
  EXPECT_EQ(random_bytes(0), "");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = random_token();
    EXPECT_EQ(token.size(), 43u);
    EXPECT_EQ(base64::decode(token).value().size(), 32u);
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST(Seal, OpensWithTheSameKeyAndHeaderOnly) {
  const std::string salt(kSaltBytes, 's');
  const Secret key = derive_key("a master key", salt, "test");
  EXPECT_EQ(key.size(), kSealKeyBytes);
  for (const Secret& other :
       {derive_key("a master key", std::string(kSaltBytes, 't'), "test"),
        derive_key("a master key", salt, "other"), derive_key("another key", salt, "test")}) {
    EXPECT_NE(other.view(), key.view());
    EXPECT_FALSE(open_sealed(other, "head", seal(key, "head", "text")));
  }
  EXPECT_TRUE(
      rc::check("what was sealed comes back", [&](const std::string& header, const std::string& plain) {
        const std::string sealed = seal(key, header, plain);
        RC_ASSERT(sealed.size() == plain.size() + kSealOverhead);
        RC_ASSERT(sealed != seal(key, header, plain));
        const std::optional<Secret> opened = open_sealed(key, header, sealed);
        RC_ASSERT((opened && opened->view() == plain));
        RC_ASSERT(!open_sealed(key, header + "x", sealed));
      }));
}

TEST(Seal, AnyChangedByteIsNoticed) {
  const Secret key = derive_key("a master key", std::string(kSaltBytes, 's'), "test");
  const std::string sealed = seal(key, "head", "the text");
  for (size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(open_sealed(key, "head", changed)) << at;
    EXPECT_FALSE(open_sealed(key, "head", sealed.substr(0, at))) << at;
  }
}

TEST(Secret, IsMovedNotCopiedAndWiped) {
  std::string text(100, 'x');
  const char* const where = text.data();
  Secret secret = Secret::taken_from(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string_view(where, 100), std::string(100, '\0'));
  EXPECT_EQ(secret.view(), std::string(100, 'x'));
  Secret moved = std::move(secret);
  EXPECT_EQ(moved.copy().view(), moved.view());
  secret = Secret("other");
  EXPECT_EQ(secret.view(), "other");
  char bytes[4] = {'a', 'b', 'c', 'd'};
  wipe(bytes, sizeof bytes);
  EXPECT_EQ(std::string_view(bytes, 4), std::string(4, '\0'));
}

}  // namespace
}  // namespace chela::crypto
