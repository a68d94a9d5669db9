#include "llm/bedrock/profile_file.h"

#include <gtest/gtest.h>

namespace chela::llm::bedrock {
namespace {

TEST(ProfileFile, BothFormsAndWhatIsNoValue) {
  constexpr std::string_view kText =
      "# mine\r\n[default]\r\nREGION = eu-west-1\r\n\n[profile "
      "work]\naws_access_key_id=AK\naws_secret_access_key = a=b \n"
      "s3 =\n  max_retries = 3\nnonsense\n; x = y\n[other]\nregion = us-east-1\n[broken\nregion = x\n";
  EXPECT_EQ(profile_of(kText, "default").at("region"), "eu-west-1");
  const auto work = profile_of(kText, "work");
  EXPECT_EQ(work.at("aws_access_key_id"), "AK");
  EXPECT_EQ(work.at("aws_secret_access_key"), "a=b");
  EXPECT_FALSE(work.contains("max_retries"));
  EXPECT_EQ(profile_of(kText, "other").at("region"), "us-east-1");
  EXPECT_TRUE(profile_of(kText, "missing").empty());
  EXPECT_TRUE(profile_of("", "default").empty());
}

}  // namespace
}  // namespace chela::llm::bedrock
