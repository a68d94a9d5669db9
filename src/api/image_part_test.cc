#include "api/image_part.h"

#include <gtest/gtest.h>

namespace chela::api {
namespace {

TEST(ImagePart, BytesComeWithTheRequest) {
  const auto image = image_from_url("data:image/PNG;base64,aGVsbG8=", "messages[0]");
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->media_type, "image/png");
  EXPECT_EQ(*image->bytes, "hello");
  EXPECT_EQ(image->hash.size(), 64u);
  const auto same = image_from_base64("image/webp", "aGVsbG8=", "x");
  ASSERT_TRUE(same);
  EXPECT_EQ(same->hash, image->hash);
}

TEST(ImagePart, ParametersOfTheTypeAreLeftOut) {
  const auto image = image_from_url("DATA:image/gif;charset=x;base64,aGVsbG8", "x");
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->media_type, "image/gif");
}

TEST(ImagePart, WhatIsNoImageIsRefusedByItsField) {
  for (const char* url :
       {"https://host/a.png", "data:image/png,aGVsbG8=", "data:text/html;base64,aGVsbG8=", "",
        "data:image/png;base64,", "data:image/png;base64,***", "data:", "data:,", "data:;base64,YQ=="}) {
    const auto image = image_from_url(url, "messages[0].content[1].image_url");
    ASSERT_FALSE(image) << url;
    EXPECT_EQ(image.error().code, Code::kInvalidArgument) << url;
    EXPECT_EQ(image.error().detail("param"), "messages[0].content[1].image_url") << url;
  }
}

}  // namespace
}  // namespace chela::api
