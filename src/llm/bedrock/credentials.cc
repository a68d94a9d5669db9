#include "llm/bedrock/credentials.h"

#include <array>
#include <map>

#include "base/json.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "llm/bedrock/limits.h"
#include "llm/bedrock/profile_file.h"
#include "net/url.h"
#include "os/file.h"

namespace chela::llm::bedrock {
namespace {

constexpr std::string_view kMachine = "http://169.254.169.254";
constexpr std::string_view kContainer = "http://169.254.170.2";

std::string or_else(std::string value, std::string_view fallback) {
  return value.empty() ? std::string(fallback) : value;
}

// Ways to keys that win over those written in the profile.
constexpr std::array<std::string_view, 4> kWays{"role_arn", "web_identity_token_file", "sso_session",
                                                "sso_start_url"};

Error not_performed(std::string_view what) {
  return Error{.code = Code::kUnauthenticated,
               .message = fmt::format("{}, which chela does not perform. Next step: set AWS_ACCESS_KEY_ID, "
                                      "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from `aws configure "
                                      "export-credentials`, or AWS_BEARER_TOKEN_BEDROCK",
                                      what)}
      .with("retry", "no");
}

// What the shared files say of the chosen profile: the credentials' words win over those of the configuration.
std::map<std::string, std::string> profile(const Variables& variables) {
  const std::string folder = variables("HOME") + "/.aws/";
  const std::string name = or_else(variables("AWS_PROFILE"), "default");
  std::map<std::string, std::string> out;
  for (const std::string& path :
       {or_else(variables("AWS_CONFIG_FILE"), folder + "config"),
        or_else(variables("AWS_SHARED_CREDENTIALS_FILE"), folder + "credentials")}) {
    const Result<std::string> text = os::read_file(path, kMaxProfileBytes);
    if (!text) continue;
    for (auto& [key, value] : profile_of(*text, name)) out[key] = value;
  }
  return out;
}

}  // namespace

std::string region_of(const Variables& variables) {
  for (const std::string_view name : {"BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = variables(name); !region.empty()) return region;
  }
  return or_else(profile(variables)["region"], "us-east-1");
}

Result<Keys> keys_from_json(std::string_view text) {
  const Result<json::Value> value = json::parse(utf8::sanitize(text));
  if (!value) return fail(Code::kUpstream, "AWS credentials: {}", value.error().message);
  Keys keys{.access_key = value->string_or("AccessKeyId"),
            .secret_key = value->string_or("SecretAccessKey"),
            .session_token = value->string_or("Token")};
  if (keys.access_key.empty() || keys.secret_key.empty())
    return fail(Code::kUpstream, "AWS credentials: the metadata service answered without keys");
  const Result<UnixMs> expires = parse_rfc3339(value->string_or("Expiration"));
  if (expires) keys.expires = *expires;
  return keys;
}

Result<std::optional<Keys>> Credentials::written_down() const {
  Keys keys{.access_key = variables_("AWS_ACCESS_KEY_ID"),
            .secret_key = variables_("AWS_SECRET_ACCESS_KEY"),
            .session_token = variables_("AWS_SESSION_TOKEN")};
  if (!keys.access_key.empty() && !keys.secret_key.empty()) return keys;
  if (!variables_("AWS_WEB_IDENTITY_TOKEN_FILE").empty())
    return fail(not_performed("AWS_WEB_IDENTITY_TOKEN_FILE is set"));
  std::map<std::string, std::string> said = profile(variables_);
  const std::string name = or_else(variables_("AWS_PROFILE"), "default");
  for (const std::string_view way : kWays) {
    if (said.contains(std::string(way)))
      return fail(not_performed(fmt::format("the AWS profile '{}' has {}", utf8::sanitize(name), way)));
  }
  keys = {.access_key = said["aws_access_key_id"],
          .secret_key = said["aws_secret_access_key"],
          .session_token = said["aws_session_token"]};
  if (!keys.access_key.empty() && !keys.secret_key.empty()) return keys;
  if (said.contains("credential_process"))
    return fail(
        not_performed(fmt::format("the AWS profile '{}' has credential_process", utf8::sanitize(name))));
  return std::nullopt;
}

Task<Result<Keys>> Credentials::get(std::stop_token stop) {
  Result<std::optional<Keys>> written = written_down();
  if (!written) co_return fail(std::move(written.error()));
  if (*written) co_return std::move(**written);
  const UnixMs soon =
      loop_.clock().now() + std::chrono::duration_cast<std::chrono::milliseconds>(kRenewBefore).count();
  if (fetched_ && (fetched_->expires == 0 || fetched_->expires > soon)) co_return *fetched_;
  Result<Keys> keys = co_await fetch(stop);
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the model call was cancelled");
  if (!keys) {
    co_return fail(Code::kUnauthenticated,
                   "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                   "AWS_BEARER_TOKEN_BEDROCK, or "
                   "write them into ~/.aws/credentials ({})",
                   keys.error().message);
  }
  fetched_ = *keys;
  co_return keys;
}

Task<Result<Keys>> Credentials::fetch(std::stop_token stop) {
  const std::string relative = variables_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty())
    co_return co_await from_container(std::string(kContainer) + relative, std::move(stop));
  std::string full = variables_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!full.empty()) co_return co_await from_container(std::move(full), std::move(stop));
  if (strings::lower(variables_("AWS_EC2_METADATA_DISABLED")) == "true")
    co_return fail(Code::kNotFound, "neither variables nor profile have any");
  co_return co_await from_machine(std::move(stop));
}

Task<Result<Keys>> Credentials::from_container(std::string url, std::stop_token stop) {
  net::Headers headers;
  std::string token = variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      token.empty() && !file.empty())
    token = strings::trim(os::read_file(file, kMaxProfileBytes).value_or(""));
  if (!token.empty()) headers.set("Authorization", token);
  const Result<std::string> text = co_await ask("GET", std::move(url), std::move(headers), std::move(stop));
  if (!text) co_return fail(text.error());
  co_return keys_from_json(*text);
}

Task<Result<Keys>> Credentials::from_machine(std::stop_token stop) {
  const std::string root = or_else(variables_("AWS_EC2_METADATA_SERVICE_ENDPOINT"), kMachine);
  net::Headers wish;
  wish.set("X-aws-ec2-metadata-token-ttl-seconds", "300");
  const Result<std::string> token = co_await ask("PUT", root + "/latest/api/token", std::move(wish), stop);
  if (!token) co_return fail(token.error());
  net::Headers access;
  access.set("X-aws-ec2-metadata-token", std::string(strings::trim(*token)));
  const std::string roles = root + "/latest/meta-data/iam/security-credentials/";
  const Result<std::string> role = co_await ask("GET", roles, access, stop);
  if (!role) co_return fail(role.error());
  const std::string_view first = strings::trim(std::string_view(*role).substr(0, role->find('\n')));
  const Result<std::string> text = co_await ask("GET", roles + std::string(first), access, std::move(stop));
  if (!text) co_return fail(text.error());
  co_return keys_from_json(*text);
}

Task<Result<std::string>> Credentials::ask(std::string method, std::string url, net::Headers headers,
                                           std::stop_token stop) {
  Result<std::shared_ptr<const net::EgressPolicy>> egress = net::EgressPolicy::exact_url(url);
  if (!egress) co_return fail(std::move(egress.error()));
  net::ClientRequest request{
      .method = std::move(method), .url = std::move(url), .headers = std::move(headers)};
  request.egress = std::move(*egress);
  request.connect_timeout = kMetadataTimeout;
  request.stall_timeout = kMetadataTimeout;
  request.max_body = kMaxMetadataBytes;
  Result<net::HttpResponse> response = co_await http_.fetch(std::move(request), std::move(stop));
  if (!response) co_return fail(std::move(response.error()));
  if (response->status != 200)
    co_return fail(Code::kUpstream, "the metadata service answered {}", response->status);
  co_return std::move(response->body);
}

}  // namespace chela::llm::bedrock
