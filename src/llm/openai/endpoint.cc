#include "llm/openai/endpoint.h"

#include "base/strings.h"
#include "net/url.h"

namespace chela::llm::openai {
namespace {

constexpr std::string_view kChatPath = "/chat/completions";

// "v1", "v1beta", "v4"
bool is_version(std::string_view segment) {
  return segment.size() >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9';
}

bool names_version(std::string_view path) {
  for (const std::string_view segment : strings::split(path, '/')) {
    if (is_version(segment)) return true;
  }
  return false;
}

}  // namespace

Result<Endpoint> Endpoint::from_base_url(std::string_view base_url) {
  Result<net::Url> url = net::Url::parse(strings::trim(base_url));
  if (!url) return fail(Code::kInvalidArgument, "llm.base_url: {}", url.error().message);
  while (url->path.ends_with('/')) url->path.pop_back();
  if (url->path.ends_with(kChatPath)) {
    url->path.resize(url->path.size() - kChatPath.size());
  } else if (!names_version(url->path)) {
    url->path += "/v1";
  }
  const std::string root = url->path;
  Endpoint endpoint;
  endpoint.name = url->host_port();
  endpoint.is_openai = url->host == "api.openai.com";
  url->path = root + std::string(kChatPath);
  endpoint.chat_url = url->text();
  url->path = root + "/models";
  endpoint.models_url = url->text();
  return endpoint;
}

}  // namespace chela::llm::openai
