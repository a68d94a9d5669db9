#include "llm/embeddings/http_embeddings.h"

#include <algorithm>

#include "llm/embeddings/limits.h"

namespace chela::llm::embeddings {
namespace {

constexpr std::string_view kCompatible = "/v1";
constexpr std::string_view kOwn = "/api";

// Ollama's own operations are beside those that it has of OpenAI's.
Result<net::Url> root_of(Protocol protocol, const Wire& wire, std::string_view base_url) {
  Result<net::Url> root = llm::wire::root_url(base_url, wire.version, wire.operation);
  if (!root || protocol != Protocol::kOllama) return root;
  for (const std::string_view end : {kCompatible, kOwn}) {
    if (root->path.ends_with(end)) root->path.resize(root->path.size() - end.size());
  }
  return root;
}

}  // namespace

Result<std::unique_ptr<HttpEmbeddings>> HttpEmbeddings::create(Protocol protocol, std::string provider,
                                                               std::string model,
                                                               llm::wire::ServerOptions options,
                                                               net::HttpClient& http,
                                                               runtime::EventLoop& loop) {
  const std::optional<Wire> wire = wire_of(protocol);
  if (!wire)
    return fail(
        Error{.code = Code::kUnsupported,
              .message = fmt::format("{} has no embeddings; name a model of a provider that has, such as "
                                     "openai/text-embedding-3-small or ollama/nomic-embed-text",
                                     provider)}
            .with("retry", "no"));
  const Result<net::Url> root = root_of(protocol, *wire, options.base_url);
  if (!root) return fail(root.error());
  Result<std::unique_ptr<llm::wire::Server>> server =
      llm::wire::Server::create(std::move(options), *root, http, loop);
  if (!server) return fail(std::move(server.error()));
  return std::unique_ptr<HttpEmbeddings>(
      new HttpEmbeddings(*wire, root->text(), std::move(model), std::move(*server)));
}

net::Headers HttpEmbeddings::access() const {
  if (wire_.key_header.empty()) return server_->bearer();
  net::Headers headers;
  const std::string& key = server_->options().api_key;
  if (!key.empty()) headers.set(std::string(wire_.key_header), key);
  return headers;
}

Task<Result<Embeddings>> HttpEmbeddings::embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                               std::stop_token stop) {
  Embeddings out{.vectors = {}, .model = request.model};
  const std::span<const std::string> texts(request.texts);
  for (size_t at = 0; at < texts.size(); at += wire_.batch) {
    const std::span<const std::string> some = texts.subspan(at, std::min(wire_.batch, texts.size() - at));
    net::ClientRequest http = server_->request("POST", root_ + wire_.path(model_), access());
    http.headers.set("Content-Type", "application/json");
    http.body = json::write(wire_.body(request, model_, some));
    http.deadline = deadline;
    const Result<json::Value> answer = co_await server_->fetch(std::move(http), stop, kMaxAnswerBytes);
    if (!answer) co_return fail(answer.error());
    Result<std::vector<std::vector<double>>> vectors =
        read_vectors(wire_, server_->errors(), *answer, some.size());
    if (!vectors) co_return fail(std::move(vectors.error()));
    out.input_tokens += std::max<std::int64_t>(0, wire_.tokens(*answer));
    for (std::vector<double>& each : *vectors) out.vectors.push_back(std::move(each));
  }
  for (const std::vector<double>& each : out.vectors) {
    if (each.size() != out.vectors.front().size())
      co_return fail(Code::kUpstream, "{} sent embeddings that differ in length", server_->errors().server);
  }
  co_return out;
}

}  // namespace chela::llm::embeddings
