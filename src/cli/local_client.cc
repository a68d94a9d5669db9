#include "cli/local_client.h"

#include "runtime/channel.h"
#include "runtime/stop_scope.h"

namespace chela::cli {
namespace {

constexpr size_t kQueuedEvents = 1024;

// What an operation emits and a reader takes.
struct Pipe {
  Pipe(runtime::EventLoop& loop, const std::stop_token& parent)
      : events(loop, kQueuedEvents), opened(loop), stop(loop, parent) {}
  runtime::Channel<op::Event> events;
  runtime::Completion<Result<>> opened;
  runtime::StopScope stop;
  std::optional<Error> error;
};

class PipeSink final : public op::EventSink {
 public:
  explicit PipeSink(Pipe& pipe) : pipe_(pipe) {}
  Result<> open() override {
    pipe_.opened.resolve(Result<>{});
    return {};
  }
  Result<> emit(op::Event event) override {
    pipe_.opened.resolve(Result<>{});
    if (pipe_.events.closed()) return fail(Code::kUnavailable, "the reader has gone");
    if (!pipe_.events.try_send(std::move(event))) return fail(Code::kTooLarge, "the reader does not keep up");
    return {};
  }
  Task<Result<>> drained() override { co_return Result<>{}; }

 private:
  Pipe& pipe_;
};

class PipeReader final : public EventReader {
 public:
  explicit PipeReader(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
  ~PipeReader() override {
    pipe_->events.close();
    pipe_->stop.cancel();
  }
  Task<Result<std::optional<op::Event>>> next(std::stop_token stop) override {
    std::optional<op::Event> event = co_await pipe_->events.receive(stop);
    if (!event && pipe_->error && !stop.stop_requested()) co_return fail(*pipe_->error);
    co_return event;
  }

 private:
  std::shared_ptr<Pipe> pipe_;
};

Task<> run(std::shared_ptr<const op::Operation> operation, op::CallContext context, json::Value args,
           std::shared_ptr<Pipe> pipe) {
  PipeSink sink(*pipe);
  const auto& handler = std::get<op::EventsHandler>(operation->handler);
  Result<json::Value> value = co_await handler(std::move(context), std::move(args), sink);
  if (!value) {
    pipe->error = value.error();
    pipe->opened.resolve(fail(value.error()));
  } else if (!pipe->opened.resolved()) {
    pipe->events.try_send(op::Event{.data = json::write(*value)});  // an answer instead of a stream
  }
  pipe->opened.resolve(Result<>{});
  pipe->events.close();
}

}  // namespace

Result<std::shared_ptr<const op::Operation>> LocalClient::find(const std::string& operation) const {
  std::shared_ptr<const op::Operation> found = registry_.find(operation);
  if (!found) return fail(Code::kNotFound, "there is no operation {}", operation);
  return found;
}

op::CallContext LocalClient::context(std::stop_token stop) const {
  return op::CallContext{.principal = owner_, .scope = owner_.scope(), .stop = std::move(stop)};
}

Task<Result<json::Value>> LocalClient::call(std::string operation, json::Value args, std::stop_token stop) {
  const Result<std::shared_ptr<const op::Operation>> found = find(operation);
  if (!found) co_return fail(found.error());
  if ((*found)->kind != op::Kind::kValue)
    co_return fail(Code::kInvalidArgument, "{} gives no single value", operation);
  Result<json::Value> prepared = op::prepare(**found, owner_, std::move(args));
  if (!prepared) co_return fail(prepared.error());
  co_return co_await std::get<op::ValueHandler>((*found)->handler)(context(std::move(stop)),
                                                                   std::move(*prepared));
}

Task<Result<std::unique_ptr<EventReader>>> LocalClient::open(std::string operation, json::Value args,
                                                             std::stop_token stop) {
  const Result<std::shared_ptr<const op::Operation>> found = find(operation);
  if (!found) co_return fail(found.error());
  if ((*found)->kind != op::Kind::kEvents)
    co_return fail(Code::kInvalidArgument, "{} gives no events", operation);
  Result<json::Value> prepared = op::prepare(**found, owner_, std::move(args));
  if (!prepared) co_return fail(prepared.error());
  const auto pipe = std::make_shared<Pipe>(loop_, stop);
  auto reader = std::make_unique<PipeReader>(pipe);
  streams_.spawn(run(*found, context(pipe->stop.token()), std::move(*prepared), pipe));
  if (Result<> opened = co_await pipe->opened; !opened) co_return fail(opened.error());
  co_return reader;
}

Task<> LocalClient::close() { co_await streams_.join(); }

}  // namespace chela::cli
