#include "infer/server.h"

#include <mutex>

#include "infer/openai_json.h"

namespace chela::infer {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(2);

net::HttpResponse json_response(int status, const json::Value& body) {
  net::HttpResponse response{.status = status, .headers = {}, .body = json::write(body)};
  response.headers.add("Content-Type", "application/json");
  return response;
}

void refuse(net::Exchange& exchange, const Error& error) {
  auto response = json_response(error_status(error), error_body(error));
  if (error.retry_after)
    response.headers.add("Retry-After",
                         std::to_string(std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count()));
  exchange.reply(std::move(response));
}

Error busy() {
  return Error{.code = Code::kRateLimited,
               .message = fmt::format("{} requests wait for the local model already; try again shortly",
                                      kMaxQueuedRequests),
               .retry_after = std::chrono::seconds(1)};
}

Failure wrong(std::string param, std::string message) {
  return Failure(
      Error{.code = Code::kInvalidArgument, .message = std::move(message)}.with("param", std::move(param)));
}

struct EmbeddingRequest {
  std::string model;
  std::vector<std::string> inputs;
  std::string encoding;
};

Result<EmbeddingRequest> parse_embedding_request(const json::Value& body) {
  if (!body.is_object()) return wrong("", "the body must be a JSON object");
  EmbeddingRequest out{
      .model = body.string_or("model"), .inputs = {}, .encoding = body.string_or("encoding_format", "float")};
  if (out.model.empty()) return wrong("model", "model must be the id of a model; GET /v1/models lists them");
  if (out.model != kEmbedderId)
    return wrong("model", fmt::format("embeddings are made by {}, not by \"{}\"", kEmbedderId, out.model));
  if (out.encoding != "float" && out.encoding != "base64")
    return wrong("encoding_format",
                 fmt::format("encoding_format \"{}\" is unknown: expected float or base64", out.encoding));
  const auto* input = body.find("input");
  if (input != nullptr && input->is_string()) {
    out.inputs.push_back(*input->as_string());
  } else if (input != nullptr && input->as_array() != nullptr) {
    for (const auto& entry : *input->as_array()) {
      if (entry.as_string() == nullptr)
        return wrong("input", "input must hold strings; token numbers are not supported");
      out.inputs.push_back(*entry.as_string());
    }
  }
  if (out.inputs.empty()) return wrong("input", "input must be a string or an array of strings");
  if (out.inputs.size() > kMaxEmbeddingInputs)
    return wrong("input", fmt::format("{} inputs are more than the {} that are allowed", out.inputs.size(),
                                      kMaxEmbeddingInputs));
  for (const auto& text : out.inputs) {
    if (text.empty()) return wrong("input", "an input is empty");
    if (text.size() > kMaxEmbeddingInputBytes)
      return wrong("input", fmt::format("an input has {} bytes; at most {} are allowed", text.size(),
                                        kMaxEmbeddingInputBytes));
  }
  return out;
}

// local/small takes its own path; another model gets the messages as they are.
Result<std::vector<Turn>> plain_turns(const ChatRequest& request) {
  if (!request.tools.empty() && request.tool_choice != ToolChoice::kNone) {
    return Failure(Error{.code = Code::kUnsupported,
                         .message = fmt::format("{} has no tool calls here; leave tools out, or use {}",
                                                request.model, kSmallId)}
                       .with("param", "tools"));
  }
  std::vector<Turn> turns;
  for (const auto& message : request.messages) {
    if (message.role == Role::kTool || !message.tool_calls.empty()) {
      return Failure(Error{.code = Code::kUnsupported,
                           .message = fmt::format("{} reads no tool results here", request.model)}
                         .with("param", "messages"));
    }
    turns.push_back({message.role, message.content});
  }
  return turns;
}

}  // namespace

// What the inference thread and the loop share of one chat. Text goes through `pending`, so that pieces that come faster than the
// loop turns leave in one chunk, and none can come after the end.
struct Server::ChatJob {
  ChatJob(runtime::AsioLoop& loop, std::shared_ptr<net::Exchange> exchange_in, ChatRequest request_in,
          ReplyHead head_in)
      : exchange(std::move(exchange_in)),
        request(std::move(request_in)),
        head(std::move(head_in)),
        gone(exchange->client_gone()),
        done(loop) {}

  std::shared_ptr<net::Exchange>
      exchange;  // loop thread; let go there by finish(), because the job itself may end on the other
  ChatRequest request;
  ReplyHead head;
  std::stop_token gone;
  runtime::Completion<Result<Answer>> done;
  std::mutex mutex;
  std::string pending;
  bool flush_posted = false;
  bool begun = false;  // loop thread: the stream's headers are out

  bool streams() const { return request.delivery == Delivery::kStream; }

  // Inference thread.
  static void add(const std::shared_ptr<ChatJob>& job, runtime::EventLoop& loop, std::string_view text) {
    const std::lock_guard lock(job->mutex);
    job->pending += text;
    if (job->flush_posted) return;
    job->flush_posted = true;
    loop.post([job] { job->flush(); });
  }

  void send(std::string_view bytes) {
    if (!begun) {
      begun = true;
      net::Headers headers;
      headers.add("Content-Type", "text/event-stream");
      headers.add("Cache-Control", "no-store");
      if (!exchange->begin_stream(200, std::move(headers)) || !exchange->write(role_chunk(head)))
        return exchange->abort();
    }
    if (!bytes.empty() && !exchange->write(bytes)) exchange->abort();
  }

  void flush() {
    std::string text;
    {
      const std::lock_guard lock(mutex);
      text.swap(pending);
      flush_posted = false;
    }
    if (exchange && !text.empty() && !gone.stop_requested()) send(text_chunk(head, text));
  }

  void finish(const Result<Answer>& answer) {
    respond(answer);
    exchange.reset();
  }

  void respond(const Result<Answer>& answer) {
    if (gone.stop_requested()) return exchange->abort();
    if (!streams()) {
      if (answer) return exchange->reply(json_response(200, completion(head, *answer)));
      return refuse(*exchange, answer.error());
    }
    if (!answer) {
      // Before the first byte an error is an ordinary response.
      if (!begun) return refuse(*exchange, answer.error());
      send(error_chunk(answer.error()));
      return exchange->end_stream();
    }
    flush();
    if (!answer->tool_calls.empty()) send(tool_calls_chunk(head, answer->tool_calls));
    send(finish_chunk(head, answer->finish));
    if (request.usage_chunk == UsageChunk::kYes) send(usage_chunk(head, answer->usage));
    send(done_chunk());
    exchange->end_stream();
  }
};

Server::Server(runtime::AsioLoop& loop, ServerOptions options)
    : loop_(loop),
      options_(std::move(options)),
      ids_(loop.clock()),
      host_(options_.host),
      small_(host_, parse_places(builtin_places()), [this] { return "call_" + ids_.next(); }),
      finished_(loop),
      last_work_(loop.clock().steady()),
      inference_(loop, 1, options_.queue),
      http_(loop, {.body_limit = [](std::string_view) { return kMaxV1BodyBytes; }},
            [this](std::shared_ptr<net::Exchange> exchange) { return handle(std::move(exchange)); }) {}

Server::~Server() = default;

Result<> Server::listen(const std::string& socket) { return http_.listen_unix(socket); }

Task<> Server::run() {
  check_idle();
  co_await finished_;
  loop_.cancel(idle_timer_);
  co_await http_.stop(kStopGrace);
}

void Server::stop() { finished_.resolve(true); }

void Server::begin_work() { ++working_; }

void Server::end_work() {
  --working_;
  last_work_ = loop_.clock().steady();
}

// Looks again when the idle time could be over at the earliest.
void Server::check_idle() {
  const auto now = loop_.clock().steady();
  if (working_ == 0 && now - last_work_ >= options_.idle) return stop();
  const auto next = (working_ == 0 ? last_work_ : now) + options_.idle;
  idle_timer_ = loop_.call_at(next, [this] { check_idle(); });
}

Task<> Server::handle(std::shared_ptr<net::Exchange> exchange) {
  const auto& request = exchange->request();
  const bool get = request.method == "GET";
  const bool post = request.method == "POST";
  if (request.path == "/v1/chat/completions" && post) co_return co_await chat(std::move(exchange));
  if (request.path == "/v1/embeddings" && post) co_return co_await embeddings(std::move(exchange));
  if (request.path == "/v1/models" && get) {
    exchange->reply(json_response(200, model_list(host_.ids(), loop_.clock().now() / 1000)));
  } else if (request.path == "/health" && get) {
    exchange->reply(json_response(200, json::Value::object({{"status", "ok"}, {"working", working_}})));
  } else {
    refuse(*exchange, Error{.code = Code::kNotFound,
                            .message = "there is only GET /health, GET /v1/models, POST /v1/chat/completions "
                                       "and POST /v1/embeddings"});
  }
}

Result<Answer> Server::run_chat(const ChatRequest& request, const TextSink& sink,
                                const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(Code::kCancelled, "cancelled");
  if (request.model == kSmallId) return small_.answer(request, sink, stop);
  if (request.model == kEmbedderId)
    return wrong("model", fmt::format("{} makes embeddings; it does not chat", kEmbedderId));
  if (auto known = host_.check(request.model); !known) return fail(known.error());
  auto turns = plain_turns(request);
  if (!turns) return fail(turns.error());
  auto model = host_.other(request.model);
  if (!model) return fail(model.error());
  Generation generation{.sampling = request.sampling, .grammar = {}};
  if (!generation.sampling.max_tokens) generation.sampling.max_tokens = kPlainAnswerTokens;
  return (*model)->generate(*turns, generation, sink, stop);
}

Task<> Server::chat(std::shared_ptr<net::Exchange> exchange) {
  auto body = json::parse(exchange->request().body);
  if (!body) co_return refuse(*exchange, body.error());
  auto request = parse_chat_request(*body);
  if (!request) co_return refuse(*exchange, request.error());
  const ReplyHead head{"chatcmpl-" + ids_.next(), request->model, loop_.clock().now() / 1000};
  auto job = std::make_shared<ChatJob>(loop_, std::move(exchange), *std::move(request), head);
  const bool queued = inference_.submit([this, job] {
    const TextSink sink = [this, &job](std::string_view text) {
      if (job->streams()) ChatJob::add(job, loop_, text);
    };
    job->done.resolve(run_chat(job->request, sink, job->gone));
  });
  if (!queued) co_return refuse(*job->exchange, busy());
  begin_work();
  const auto answer = co_await job->done;
  end_work();
  job->finish(answer);
}

Task<> Server::embeddings(std::shared_ptr<net::Exchange> exchange) {
  auto body = json::parse(exchange->request().body);
  if (!body) co_return refuse(*exchange, body.error());
  auto request = parse_embedding_request(*body);
  if (!request) co_return refuse(*exchange, request.error());
  struct Made {
    std::vector<Embedding> vectors;
    std::size_t tokens = 0;
  };
  const runtime::Completion<Result<Made>> done(loop_);
  const bool queued =
      inference_.submit([this, done, inputs = std::move(request->inputs), gone = exchange->client_gone()] {
        const auto make = [&]() -> Result<Made> {
          auto embedder = host_.embedder();
          if (!embedder) return fail(embedder.error());
          Made made;
          // In batches, so that work for a client that has gone ends soon.
          for (std::size_t at = 0; at < inputs.size(); at += kEmbeddingBatchTexts) {
            if (gone.stop_requested()) return fail(Code::kCancelled, "cancelled");
            const auto some =
                std::span(inputs).subspan(at, std::min(kEmbeddingBatchTexts, inputs.size() - at));
            auto vectors = (*embedder)->embed(some);
            if (!vectors) return fail(vectors.error());
            for (auto& vector : *vectors) made.vectors.push_back(std::move(vector));
            for (const auto& text : some)
              made.tokens += std::min(kEmbeddingTokens, (*embedder)->count_tokens(text));
          }
          return made;
        };
        done.resolve(make());
      });
  if (!queued) co_return refuse(*exchange, busy());
  begin_work();
  const auto made = co_await done;
  end_work();
  if (!made) co_return refuse(*exchange, made.error());
  exchange->reply(
      json_response(200, embedding_list(kEmbedderId, made->vectors, made->tokens, request->encoding)));
}

}  // namespace chela::infer
