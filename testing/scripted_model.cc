#include "testing/scripted_model.h"

#include "runtime/sleep.h"
#include "testing/scripted_wire.h"

namespace chela::testing {
namespace {

constexpr size_t kMaxRecordedRequests = 2000;  // the oldest go first
constexpr size_t kMaxRequestBytes = 64 * 1024 * 1024;
constexpr size_t kEmbeddingDimensions = 64;
constexpr std::string_view kGeminiEmbed = ":batchEmbedContents";
constexpr auto kForEver = std::chrono::hours(24);  // longer than any test waits

void reply_json(net::Exchange& exchange, int status, std::string body) {
  net::HttpResponse response{.status = status, .body = std::move(body)};
  response.headers.set("Content-Type", "application/json");
  exchange.reply(std::move(response));
}

void reply_error(net::Exchange& exchange, int status, std::string_view message) {
  const json::Value error = json::Value::object({{"message", message}, {"type", "invalid_request_error"}});
  reply_json(exchange, status, json::write(json::Value::object({{"error", error}})));
}

net::HttpServerOptions server_options() {
  net::HttpServerOptions options;
  options.body_limit = [](std::string_view) { return kMaxRequestBytes; };
  options.max_connections = 4096;
  return options;
}

net::Headers reply_headers(const Reply& reply, std::string_view content_type) {
  net::Headers headers;
  headers.set("Content-Type",
              reply.content_type.empty() ? content_type : std::string_view(reply.content_type));
  for (const auto& [name, value] : reply.headers) headers.set(name, value);
  return headers;
}

bool is_embedding(std::string_view path) {
  return path == "/v1/embeddings" || path == "/embeddings" || path == "/api/embed" ||
         path.ends_with(kGeminiEmbed);
}

// The texts, whatever the protocol: nothing when there are none.
std::vector<std::string> texts_of(const json::Value& body) {
  std::vector<std::string> texts;
  const auto add = [&texts](const json::Value& text) {
    texts.push_back(text.as_string() != nullptr ? *text.as_string() : json::write(text));
  };
  if (const json::Value* input = body.find("input")) {
    if (input->as_array() == nullptr) add(*input);
    for (const json::Value& text : input->as_array() != nullptr ? *input->as_array() : json::Array())
      add(text);
  }
  const json::Value* requests = body.find("requests");  // Google's
  for (const json::Value& each :
       requests != nullptr && requests->is_array() ? *requests->as_array() : json::Array())
    add(*each.find("content")->find("parts")->as_array()->at(0).find("text"));
  return texts;
}

std::int64_t dimensions_of(const json::Value& body) {
  const json::Value* requests = body.find("requests");
  const bool google = requests != nullptr && requests->is_array() && !requests->as_array()->empty();
  return google ? requests->as_array()->front().int_or("outputDimensionality", kEmbeddingDimensions)
                : body.int_or("dimensions", kEmbeddingDimensions);
}

bool wants_usage(const json::Value& body) {
  const json::Value* options = body.find("stream_options");
  return options != nullptr && options->bool_or("include_usage", false);
}

}  // namespace

ScriptedModel::ScriptedModel(runtime::AsioLoop& loop)
    : loop_(loop),
      server_(loop, server_options(), [this](Exchange exchange) { return handle(std::move(exchange)); }) {}

Result<> ScriptedModel::load(std::string script) {
  Result<Script> parsed = Script::parse(script);
  if (!parsed) return fail(std::move(parsed.error()));
  script_ = std::move(*parsed);
  script_text_ = std::move(script);
  if (script_.instant()) prepare_instant();
  return {};
}

void ScriptedModel::reset() {
  requests_.clear();
  count_ = 0;
  script_ = *Script::parse(script_text_);  // it was parsed before
}

Result<std::uint16_t> ScriptedModel::listen_tcp(std::uint16_t port) {
  Result<std::uint16_t> real = server_.listen_tcp("127.0.0.1", port);
  if (real) port_ = *real;
  return real;
}

Result<> ScriptedModel::listen_unix(const std::string& path) { return server_.listen_unix(path); }

Task<> ScriptedModel::stop() { return server_.stop(0ms); }

std::string ScriptedModel::base_url() const { return fmt::format("http://127.0.0.1:{}", port_); }

Task<> ScriptedModel::handle(Exchange exchange) {
  const std::string& path = exchange->request().path;
  if (const std::optional<Wire> wire = wire_of(path)) {
    if (script_.instant() && wire == Wire::kChat) {
      chat_instantly(*exchange);
    } else {
      co_await chat(exchange, *wire);
    }
  } else if (is_embedding(path)) {
    embeddings(*exchange);
  } else if (path == "/v1/models" || path == "/models" || path == "/v1beta/models" || path == "/api/tags" ||
             path == "/foundation-models") {
    models(*exchange);
  } else {
    control(*exchange);
  }
}

// For benchmarks: the default reply, made once; nothing is parsed or kept.
void ScriptedModel::prepare_instant() {
  const AnswerForm form{
      .id = "chatcmpl-scripted", .model = script_.model(), .usage = AnswerForm::Usage::kInStream};
  instant_whole_ = whole_answer(script_.fallback(), form);
  instant_stream_.clear();
  for (const std::string& event : stream_events(script_.fallback(), form)) instant_stream_ += event;
}

void ScriptedModel::chat_instantly(net::Exchange& exchange) {
  ++count_;
  const bool stream = exchange.request().body.find("\"stream\":true") != std::string::npos;
  net::HttpResponse response{.body = stream ? instant_stream_ : instant_whole_};
  response.headers.set("Content-Type", stream ? "text/event-stream" : "application/json");
  exchange.reply(std::move(response));
}

Task<> ScriptedModel::chat(Exchange exchange, Wire wire) {
  Result<json::Value> body = json::parse(exchange->request().body);
  if (!body) {
    reply_error(*exchange, 400, body.error().message);
    co_return;
  }
  record(exchange->request(), *body);
  const Asked asked = asked_over(wire, exchange->request().path, *body);
  Reply reply = script_.next(asked);
  const std::stop_token gone = exchange->client_gone();
  if (!reply.answered) {
    co_await runtime::sleep_for(loop_, kForEver, gone);
    exchange->abort();
    co_return;
  }
  if (reply.first_delay.count() > 0) co_await runtime::sleep_for(loop_, reply.first_delay, gone);
  if (reply.status < 200 || reply.status > 299 || reply.body) {
    exchange->reply({.status = reply.status,
                     .headers = reply_headers(reply, "application/json"),
                     .body = error_body_over(wire, reply)});
    co_return;
  }
  AnswerForm form{.id = fmt::format("chatcmpl-scripted-{}", count_),
                  .model = asked.model.empty() ? script_.model() : asked.model,
                  .now = loop_.clock().now()};
  if (wants_usage(*body)) form.usage = AnswerForm::Usage::kInStream;
  form.prompt_tokens = static_cast<std::int64_t>(exchange->request().body.size() / 4);
  const bool whole = !body->bool_or("stream", false) || reply.sending == Sending::kWhole;
  if (wire == Wire::kChat && whole) {
    exchange->reply({.status = reply.status,
                     .headers = reply_headers(reply, "application/json"),
                     .body = whole_answer(reply, form)});
    co_return;
  }
  std::vector<std::string> events = events_over(wire, reply, form);
  if (reply.content_type.empty()) reply.content_type = content_type_of(wire);
  co_await stream(exchange, std::move(reply), std::move(events));
}

Task<> ScriptedModel::stream(Exchange exchange, Reply reply, std::vector<std::string> events) {
  static constexpr std::string_view kGarbage = "\xff\xfe\x01 no event\n\ndata: {\"choices\": \xc3(\n\n";
  const std::stop_token gone = exchange->client_gone();
  const Result<> begun = exchange->begin_stream(reply.status, reply_headers(reply, "text/event-stream"));
  if (!begun) {
    reply_error(*exchange, 500, begun.error().message);
    co_return;
  }
  for (size_t i = 0; i <= events.size(); ++i) {
    if (reply.stall_after == i) {
      co_await runtime::sleep_for(loop_, kForEver, gone);
      co_return exchange->abort();
    }
    if (reply.garbage_after == i) {
      if (!co_await write(exchange, kGarbage, reply.write_bytes)) co_return exchange->abort();
    }
    if (reply.cut_after == i) {
      const std::string_view event = i < events.size() ? std::string_view(events[i]) : "data: {";
      co_await write(exchange, event.substr(0, event.size() / 2), 0);
      co_await exchange->drained(0, gone);
      co_return exchange->abort();
    }
    if (i == events.size()) break;
    if (i > 0 && reply.chunk_delay.count() > 0) co_await runtime::sleep_for(loop_, reply.chunk_delay, gone);
    if (!co_await write(exchange, events[i], reply.write_bytes)) co_return exchange->abort();
  }
  exchange->end_stream();
}

Task<Result<>> ScriptedModel::write(Exchange exchange, std::string_view bytes, size_t piece) {
  const std::stop_token gone = exchange->client_gone();
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece == 0 ? bytes.size() : piece);
    bytes.remove_prefix(part.size());
    if (Result<> written = exchange->write(part); !written) co_return written;
    if (piece == 0) continue;
    // What is written within one turn of the loop leaves in one packet; each piece is to be its own.
    if (Result<> drained = co_await exchange->drained(0, gone); !drained) co_return drained;
  }
  co_return Result<>{};
}

void ScriptedModel::embeddings(net::Exchange& exchange) {
  const Result<json::Value> body = json::parse(exchange.request().body);
  const std::vector<std::string> texts = body ? texts_of(*body) : std::vector<std::string>();
  if (texts.empty()) return reply_error(exchange, 400, "no input");
  record(exchange.request(), *body);
  const std::int64_t wanted = dimensions_of(*body);
  if (wanted < 1 || wanted > 4096) return reply_error(exchange, 400, "dimensions must be 1 to 4096");
  const bool google = exchange.request().path.ends_with(kGeminiEmbed);
  const bool ollama = exchange.request().path == "/api/embed";
  json::Array data;
  for (const std::string& text : texts) {
    json::Array vector;
    for (const double value : embed(text, static_cast<size_t>(wanted))) vector.emplace_back(value);
    if (ollama) {
      data.emplace_back(std::move(vector));
    } else if (google) {
      data.push_back(json::Value::object({{"values", std::move(vector)}}));
    } else {
      data.push_back(json::Value::object(
          {{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(vector)}}));
    }
  }
  const auto tokens = static_cast<std::int64_t>(exchange.request().body.size() / 4);
  json::Value out = json::Value::object({{"object", "list"},
                                         {google || ollama ? "embeddings" : "data", std::move(data)},
                                         {"model", body->string_or("model")}});
  if (google) out.set("usageMetadata", json::Value::object({{"promptTokenCount", tokens}}));
  if (ollama) out.set("prompt_eval_count", tokens);
  if (!google && !ollama)
    out.set("usage", json::Value::object({{"prompt_tokens", tokens}, {"total_tokens", tokens}}));
  reply_json(exchange, 200, json::write(out));
}

void ScriptedModel::models(net::Exchange& exchange) {
  // Others than OpenAI call both the list and its names otherwise.
  struct Words {
    std::string_view list, key, prefix;
  };
  const std::string& path = exchange.request().path;
  const Words words = path == "/v1beta/models"       ? Words{"models", "name", "models/"}
                      : path == "/api/tags"          ? Words{"models", "name", ""}
                      : path == "/foundation-models" ? Words{"modelSummaries", "modelId", ""}
                                                     : Words{"data", "id", ""};
  json::Value data = json::Value::array();
  const auto add = [&](const std::string& id) {
    data.push_back(json::Value::object({{std::string(words.key), std::string(words.prefix) + id},
                                        {"object", "model"},
                                        {"created", 0},
                                        {"owned_by", "scripted"}}));
  };
  add(script_.model());
  for (const std::string& id : script_.more_models()) add(id);
  reply_json(
      exchange, 200,
      json::write(json::Value::object({{"object", "list"}, {std::string(words.list), std::move(data)}})));
}

void ScriptedModel::control(net::Exchange& exchange) {
  const net::HttpRequest& request = exchange.request();
  if (request.path == "/health") return reply_json(exchange, 200, R"({"status":"ok"})");
  if (request.method == "GET" && request.path == "/_requests")
    return reply_json(exchange, 200, json::write(recorded_json()));
  if (request.method == "POST" && request.path == "/_script") {
    if (Result<> loaded = load(request.body); !loaded)
      return reply_error(exchange, 400, loaded.error().message);
    return reply_json(exchange, 200, "{}");
  }
  if (request.method == "POST" && request.path == "/_reset") {
    reset();
    return reply_json(exchange, 200, "{}");
  }
  reply_error(exchange, 404, fmt::format("no {} {}", request.method, request.path));
}

void ScriptedModel::record(const net::HttpRequest& request, json::Value body) {
  ++count_;
  requests_.push_back(
      {.path = request.path, .peer = request.peer, .headers = request.headers, .body = std::move(body)});
  if (requests_.size() > kMaxRecordedRequests) requests_.pop_front();
}

json::Value ScriptedModel::recorded_json() const {
  json::Array list;
  for (const RecordedRequest& request : requests_) {
    json::Value headers = json::Object();
    for (const auto& [name, value] : request.headers.fields) headers.set(name, value);
    list.push_back(json::Value::object(
        {{"path", request.path}, {"headers", std::move(headers)}, {"body", request.body}}));
  }
  return json::Value::object({{"count", count_}, {"requests", std::move(list)}});
}

}  // namespace chela::testing
