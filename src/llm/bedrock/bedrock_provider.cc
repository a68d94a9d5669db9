#include "llm/bedrock/bedrock_provider.h"

#include <array>

#include "llm/bedrock/request_body.h"
#include "llm/bedrock/stream_reader.h"

namespace chela::llm::bedrock {
namespace {

constexpr std::string_view kService = "bedrock";
constexpr std::string_view kRuntime = "bedrock-runtime.";
constexpr std::string_view kControl = "bedrock.";
constexpr std::string_view kDomain = ".amazonaws.com";

constexpr std::string_view kShippedRegion = "us-east-1";  // of the entry's address
constexpr std::string_view kEntries = "providers.";       // begins the name of what says the entry's address

// What inference profiles of a geography begin with, those across all of them too.
constexpr std::array<std::string_view, 8> kGeographies{"us.", "eu.", "apac.", "us-gov.",
                                                       "jp.", "au.", "ca.",   "global."};

bool is_awss(std::string_view host) {
  return host.starts_with(kRuntime) && host.ends_with(kDomain) &&
         host.size() > kRuntime.size() + kDomain.size();
}

}  // namespace

std::string region_at(const net::Url& root, std::string_view address_key, const Variables& variables) {
  if (!is_awss(root.host)) return region_of(variables);
  const std::string named =
      root.host.substr(kRuntime.size(), root.host.size() - kRuntime.size() - kDomain.size());
  const bool shipped = address_key.starts_with(kEntries) && named == kShippedRegion;
  return shipped ? region_of(variables) : named;
}

std::string in_geography(std::string model, const std::string& geography) {
  if (geography.empty() || model.starts_with("arn:")) return model;
  for (const std::string_view known : kGeographies) {
    if (model.starts_with(known)) {
      model.erase(0, known.size());
      break;
    }
  }
  return model.starts_with(geography + ".") ? model : geography + "." + model;
}

Result<std::unique_ptr<BedrockProvider>> BedrockProvider::create(wire::ServerOptions options,
                                                                 Variables variables, net::HttpClient& http,
                                                                 runtime::EventLoop& loop) {
  Result<net::Url> root = wire::root_url(options.base_url, "", "");
  if (!root) return fail(root.error());
  std::string region = region_at(*root, options.address_key, variables);
  net::Url control = *root;
  // The entry's address becomes that of the region. One that is none of AWS's (a proxy, a private endpoint) stays.
  if (is_awss(root->host)) {
    root->host = fmt::format("{}{}{}", kRuntime, region, kDomain);
    control.host = fmt::format("{}{}{}", kControl, region, kDomain);
  }
  Result<std::unique_ptr<wire::Server>> server = wire::Server::create(options, *root, http, loop);
  if (!server) return fail(std::move(server.error()));
  Result<std::unique_ptr<wire::Server>> lists = wire::Server::create(std::move(options), control, http, loop);
  if (!lists) return fail(std::move(lists.error()));
  std::string geography = variables("BEDROCK_CROSS_REGION");
  return std::unique_ptr<BedrockProvider>(new BedrockProvider(
      root->text(), std::move(region), std::move(geography), Credentials(std::move(variables), http, loop),
      std::move(*server), control.text(), std::move(*lists)));
}

BedrockProvider::BedrockProvider(std::string root, std::string region, std::string geography,
                                 Credentials credentials, std::unique_ptr<wire::Server> server,
                                 std::string control_root, std::unique_ptr<wire::Server> control)
    : root_(std::move(root)),
      region_(std::move(region)),
      geography_(std::move(geography)),
      credentials_(std::move(credentials)),
      server_(std::move(server)),
      control_root_(std::move(control_root)),
      control_(std::move(control)) {}

std::string BedrockProvider::id_of(const std::string& model) const { return in_geography(model, geography_); }

Task<Result<net::ClientRequest>> BedrockProvider::let_in(net::ClientRequest request, std::stop_token stop) {
  if (!server_->options().api_key.empty()) co_return request;
  const Result<Keys> keys = co_await credentials_.get(std::move(stop));
  if (!keys) co_return fail(keys.error());
  sign(request, *keys, region_, kService, server_->loop().clock().now());
  co_return request;
}

Task<Result<Answer>> BedrockProvider::complete(Request request, DeltaSink sink,
                                               std::optional<SteadyTime> deadline, std::stop_token stop) {
  std::string model = id_of(request.model);
  net::ClientRequest http = server_->request(
      "POST", fmt::format("{}/model/{}/converse-stream", root_, wire::url_segment(model)), server_->bearer());
  http.headers.set("Content-Type", "application/json");
  http.headers.set("Accept", "application/vnd.amazon.eventstream");
  http.body = request_body(std::move(request));
  Result<net::ClientRequest> ready = co_await let_in(std::move(http), stop);
  if (!ready) co_return fail(std::move(ready.error()));
  auto reader = std::make_unique<StreamReader>(server_->errors(), std::move(sink));
  Result<Answer> answer =
      co_await server_->complete(std::move(*ready), std::move(reader), deadline, std::move(stop));
  if (!answer && answer.error().code == Code::kPermissionDenied) credentials_.forget();
  if (answer && answer->model.empty()) answer->model = std::move(model);  // the protocol does not say
  co_return answer;
}

Task<Result<std::vector<std::string>>> BedrockProvider::models(std::stop_token stop) {
  Result<net::ClientRequest> ready = co_await let_in(
      control_->request("GET", control_root_ + "/foundation-models", control_->bearer()), stop);
  if (!ready) co_return fail(std::move(ready.error()));
  const Result<json::Value> list = co_await control_->fetch(std::move(*ready), std::move(stop));
  if (!list) co_return fail(list.error());
  co_return wire::ids_of(control_->errors(), *list, "modelSummaries", "modelId");
}

}  // namespace chela::llm::bedrock
