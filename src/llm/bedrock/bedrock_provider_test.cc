// What is this server's own, and how it is let in; what all adapters promise is tested in llm/backends/.
#include "llm/bedrock/bedrock_provider.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "llm/bedrock/limits.h"
#include "net/curl_client.h"
#include "net/http_server.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"
#include "testing/test_dir.h"

namespace chela::llm::bedrock {
namespace {

class Bedrock : public ::testing::Test {
 protected:
  Variables variables() {
    return [this](std::string_view name) { return said[std::string(name)]; };
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(dir.path() + "/" + name) << text;
  }
  Result<Keys> keys() {
    Credentials chain(variables(), *http, loop);
    return runtime::block_on(loop, chain.get({}));
  }

  runtime::AsioLoop loop;
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
  testing::TestDir dir;
  std::map<std::string, std::string> said{{"HOME", dir.path()}, {"AWS_EC2_METADATA_DISABLED", "true"}};
};

TEST_F(Bedrock, RequestsAreSignedOrCarryAKey) {
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  said.insert({{"AWS_ACCESS_KEY_ID", "AKID"},
               {"AWS_SECRET_ACCESS_KEY", "secret"},
               {"AWS_SESSION_TOKEN", "token"},
               {"AWS_REGION", "eu-west-1"},
               {"BEDROCK_CROSS_REGION", "eu"}});
  for (const std::string key : {"", "bedrock-key"}) {
    const auto provider = std::move(
        *BedrockProvider::create({.base_url = model.base_url(), .api_key = key}, variables(), *http, loop));
    Request request{.model = "anthropic.claude-x-v1:0", .messages = {{.content = "hi"}}};
    const Result<Answer> answer = runtime::block_on(loop, provider->complete(request, {}, std::nullopt, {}));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->text, "echo: hi");
    EXPECT_EQ(answer->model, "eu.anthropic.claude-x-v1:0");
    const testing::RecordedRequest& sent = model.requests().back();
    EXPECT_EQ(sent.path, "/model/eu.anthropic.claude-x-v1%3A0/converse-stream");
    const std::string access(sent.headers.value_or("Authorization"));
    if (key.empty()) {
      EXPECT_TRUE(access.starts_with("AWS4-HMAC-SHA256 Credential=AKID/")) << access;
      EXPECT_TRUE(access.contains("/eu-west-1/bedrock/aws4_request")) << access;
      EXPECT_EQ(sent.headers.value_or("X-Amz-Security-Token"), "token");
    } else {
      EXPECT_EQ(access, "Bearer bedrock-key");
    }
    EXPECT_EQ(runtime::block_on(loop, provider->models({})).value_or(std::vector<std::string>{}),
              std::vector<std::string>{"scripted"});
  }
  runtime::block_on(loop, model.stop());
  EXPECT_FALSE(BedrockProvider::create({.base_url = "nonsense"}, variables(), *http, loop));
}

TEST_F(Bedrock, ARefusedSignatureDoesNotQuoteTheSessionsToken) {
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  ASSERT_TRUE(model.load(
      R"({"default":{"status":403,"error":{"message":"The Canonical String was x-amz-security-token:session-token-1 end"}}})"));
  said.insert({{"AWS_ACCESS_KEY_ID", "AKID"},
               {"AWS_SECRET_ACCESS_KEY", "secret"},
               {"AWS_SESSION_TOKEN", "session-token-1"}});
  const auto provider =
      std::move(*BedrockProvider::create({.base_url = model.base_url()}, variables(), *http, loop));
  Request request{.model = "m", .messages = {{.content = "hi"}}};
  const Result<Answer> answer = runtime::block_on(loop, provider->complete(request, {}, std::nullopt, {}));
  ASSERT_FALSE(answer);
  EXPECT_FALSE(answer.error().text().contains("session-token-1")) << answer.error().text();
  EXPECT_TRUE(answer.error().text().contains("[redacted] end")) << answer.error().text();
  runtime::block_on(loop, model.stop());
}

TEST_F(Bedrock, AnAddressWithARegionIsTakenAtItsWord) {
  said["AWS_REGION"] = "eu-west-1";
  const auto region = [this](const std::string& host, std::string_view key) {
    return region_at(*net::Url::parse("https://" + host), key, variables());
  };
  EXPECT_EQ(region("bedrock-runtime.us-east-1.amazonaws.com", "providers.bedrock.base_url"), "eu-west-1");
  EXPECT_EQ(region("bedrock-runtime.us-east-1.amazonaws.com", "BEDROCK_BASE_URL"), "us-east-1");
  EXPECT_EQ(region("bedrock-runtime.eu-central-1.amazonaws.com", "llm.base_url"), "eu-central-1");
  EXPECT_EQ(region("bedrock-runtime.eu-central-1.amazonaws.com", "providers.bedrock.base_url"),
            "eu-central-1");
  EXPECT_EQ(region("proxy.test", "llm.base_url"), "eu-west-1");
}

TEST_F(Bedrock, AProfileOfAnotherGeographyIsThatOfTheChosenOne) {
  EXPECT_EQ(in_geography("us.anthropic.claude-x-v1:0", ""), "us.anthropic.claude-x-v1:0");
  EXPECT_EQ(in_geography("us.anthropic.claude-x-v1:0", "eu"), "eu.anthropic.claude-x-v1:0");
  EXPECT_EQ(in_geography("eu.anthropic.claude-x-v1:0", "eu"), "eu.anthropic.claude-x-v1:0");
  EXPECT_EQ(in_geography("amazon.nova-pro-v1:0", "apac"), "apac.amazon.nova-pro-v1:0");
  EXPECT_EQ(in_geography("arn:aws:bedrock:x", "eu"), "arn:aws:bedrock:x");
}

TEST_F(Bedrock, AWayToKeysThatIsNotPerformedIsRefusedAndNobodyElseIsAsked) {
  said["AWS_CONFIG_FILE"] = dir.path() + "/config";
  said["AWS_SHARED_CREDENTIALS_FILE"] = dir.path() + "/credentials";
  for (const std::string way : {"role_arn", "sso_session", "sso_start_url", "web_identity_token_file"}) {
    write("config", "[default]\n" + way + " = x\naws_access_key_id = A\naws_secret_access_key = B\n");
    EXPECT_EQ(keys().error().code, Code::kUnauthenticated);
    EXPECT_TRUE(keys().error().message.contains(way)) << keys().error().message;
  }
  write("config", "[default]\ncredential_process = print-keys\n");
  EXPECT_TRUE(keys().error().message.contains("credential_process"));
  write("credentials", "[default]\naws_access_key_id = A\naws_secret_access_key = B\n");
  EXPECT_EQ(keys()->access_key, "A") << "keys that are written down come before the program";
  said["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  EXPECT_TRUE(keys().error().message.contains("AWS_WEB_IDENTITY_TOKEN_FILE"));
}

TEST_F(Bedrock, KeysOfTheSharedFiles) {
  EXPECT_EQ(keys().error().code, Code::kUnauthenticated);
  said["AWS_SHARED_CREDENTIALS_FILE"] = dir.path() + "/credentials";
  said["AWS_CONFIG_FILE"] = dir.path() + "/config";
  write("credentials",
        "[default]\naws_access_key_id = A\naws_secret_access_key = B\n[work]\naws_access_key_id = "
        "C\naws_secret_access_key = D\n");
  write("config", "[profile work]\nregion = eu-north-1\naws_session_token = T\n");
  EXPECT_EQ(keys()->access_key, "A");
  EXPECT_EQ(region_of(variables()), "us-east-1");
  said["AWS_PROFILE"] = "work";
  EXPECT_EQ(keys()->secret_key, "D");
  EXPECT_EQ(keys()->session_token, "T");
  EXPECT_EQ(region_of(variables()), "eu-north-1");
  said["BEDROCK_REGION"] = "ap-south-1";
  EXPECT_EQ(region_of(variables()), "ap-south-1");
  write("credentials", std::string(kMaxProfileBytes + 1, '\n'));  // too large to be one: passed over
  EXPECT_FALSE(keys());
}

// A container's or a machine's metadata.
class Metadata : public Bedrock {
 protected:
  void SetUp() override {
    server = std::make_unique<net::HttpServer>(
        loop, net::HttpServerOptions{},
        [this](std::shared_ptr<net::Exchange> exchange) { return answer(std::move(exchange)); });
    root = fmt::format("http://127.0.0.1:{}", *server->listen_tcp("127.0.0.1", 0));
  }
  void TearDown() override { runtime::block_on(loop, server->stop(0ms)); }

  Task<> answer(std::shared_ptr<net::Exchange> exchange) {
    const net::HttpRequest& request = exchange->request();
    seen.push_back(fmt::format("{} {} {}{}", request.method, request.path,
                               request.headers.value_or("X-aws-ec2-metadata-token"),
                               request.headers.value_or("Authorization")));
    net::HttpResponse response{.body = document};
    if (request.method == "PUT") response.body = "session";
    if (request.path.ends_with("/security-credentials/")) response.body = "role\n";
    exchange->reply(std::move(response));
    co_return;
  }

  std::unique_ptr<net::HttpServer> server;
  std::string root;
  std::string document =
      R"({"AccessKeyId":"A","SecretAccessKey":"B","Token":"T","Expiration":"2099-01-01T00:00:00Z"})";
  std::vector<std::string> seen;
};

TEST_F(Metadata, OfTheMachine) {
  said["AWS_EC2_METADATA_DISABLED"] = "";
  said["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = root;
  Credentials chain(variables(), *http, loop);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(runtime::block_on(loop, chain.get({}))->session_token, "T");
  EXPECT_EQ(seen, (std::vector<std::string>{"PUT /latest/api/token ",
                                            "GET /latest/meta-data/iam/security-credentials/ session",
                                            "GET /latest/meta-data/iam/security-credentials/role session"}));
  chain.forget();
  EXPECT_TRUE(runtime::block_on(loop, chain.get({})));
  EXPECT_EQ(seen.size(), 6u);
}

TEST_F(Metadata, OfTheContainerWhoseKeysExpireSoonAreFetchedAgain) {
  said["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = root + "/keys";
  said["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "let-me-in";
  const UnixMs soon = loop.clock().now() + std::chrono::milliseconds(kRenewBefore).count() / 2;
  document =
      fmt::format(R"({{"AccessKeyId":"A","SecretAccessKey":"B","Expiration":"{}"}})", format_rfc3339(soon));
  Credentials chain(variables(), *http, loop);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(runtime::block_on(loop, chain.get({})));
  EXPECT_EQ(seen, (std::vector<std::string>{"GET /keys let-me-in", "GET /keys let-me-in"}));
}

TEST_F(Metadata, NonsenseIsAnErrorThatSaysWhatToDo) {
  said["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = root + "/keys";
  for (const std::string& text :
       {std::string("{}"), std::string("<html>"), std::string(kMaxMetadataBytes + 1, 'x')}) {
    document = text;
    const Result<Keys> got = keys();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kUnauthenticated);
    EXPECT_TRUE(got.error().message.contains("AWS_ACCESS_KEY_ID"));
  }
  static_assert(kMetadataTimeout < kModelStallTimeout);
}

}  // namespace
}  // namespace chela::llm::bedrock
