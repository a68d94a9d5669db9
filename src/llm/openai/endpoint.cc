#include "llm/openai/endpoint.h"

#include "llm/wire/server.h"

namespace chela::llm::openai {

constexpr std::string_view kChatPath = "/chat/completions";

Result<Endpoint> Endpoint::from_base_url(std::string_view base_url) {
  Result<net::Url> url = wire::root_url(base_url, "/v1", kChatPath);
  if (!url) return fail(std::move(url.error()));
  const std::string root = url->path;
  Endpoint endpoint;
  endpoint.is_openai = url->host == "api.openai.com";
  url->path = root + std::string(kChatPath);
  endpoint.chat_url = url->text();
  url->path = root + "/models";
  endpoint.models_url = url->text();
  return endpoint;
}

}  // namespace chela::llm::openai
