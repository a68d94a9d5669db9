#include "memory/path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "base/utf8.h"
#include "memory/documents.h"

namespace chela::memory {
namespace {

TEST(Path, Normalises) {
  EXPECT_EQ(*normalise_path(" /daily//2026-01-01.md/ "), "daily/2026-01-01.md");
  EXPECT_EQ(*normalise_path("./a/./b"), "a/b");
  EXPECT_EQ(*normalise_path("a / b"), "a/b");
  EXPECT_EQ(*normalise_path("Käse.md"), "Käse.md");
  EXPECT_EQ(*normalise_path("a..b/...c"), "a..b/...c");
  EXPECT_EQ(*normalise_folder(""), "");
  EXPECT_EQ(*normalise_folder(" / "), "");
}

TEST(Path, Refuses) {
  const std::string deep = [] {
    std::string path;
    for (size_t i = 0; i <= kMaxPathDepth; ++i) path += "a/";
    return path;
  }();
  for (const std::string& path :
       {std::string(""), std::string("/"), std::string(".."), std::string("a/../b"), std::string("../etc"),
        std::string("a/ .. /b"), std::string("a\nb"), std::string("a\0b", 3), std::string("a\\b"),
        std::string("a\xFF"), std::string(kMaxPathBytes + 1, 'a'), deep}) {
    const Result<std::string> out = normalise_path(path);
    ASSERT_FALSE(out) << path;
    EXPECT_EQ(out.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(utf8::valid(out.error().message));
  }
  EXPECT_TRUE(normalise_path(std::string(kMaxPathBytes, 'a')));
}

TEST(Path, WhatComesOutIsAlwaysSafeAndStaysTheSame) {
  rc::check([] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
        rc::gen::element<std::string>("a", "..", ".", "", " ", "x y", "\xC3\xA4", "\xFF", "\\", "\t"),
        rc::gen::arbitrary<std::string>()));
    const Result<std::string> out = normalise_folder(strings::join(parts, "/"));
    if (!out) return;
    RC_ASSERT(*normalise_folder(*out) == *out);
    RC_ASSERT(!out->starts_with('/'));
    RC_ASSERT(!out->ends_with('/'));
    RC_ASSERT(!out->contains("//"));
    RC_ASSERT(utf8::valid(*out));
    for (const std::string_view part : strings::split(*out, '/')) RC_ASSERT(part != ".." && part != ".");
  });
}

TEST(Documents, ProtectedNamesInAnySpelling) {
  for (const char* path :
       {"SOUL.md", "soul.MD", "/Soul.md", "./IDENTITY.md", "user.md", "Agents", "SOUL .md"}) {
    EXPECT_TRUE(is_protected(*normalise_path(path))) << path;
  }
  for (const char* path : {"MEMORY.md", "projects/user.md", "soulmate.md", "TOOLS.md"})
    EXPECT_FALSE(is_protected(*normalise_path(path))) << path;
}

}  // namespace
}  // namespace chela::memory
