#include "bus/operation_functions.h"

namespace chela::bus {
namespace {

// There is nowhere for a stream to go.
class NoStream final : public op::EventSink, public op::ByteSink {
 public:
  Result<> open() override { return refusal(); }
  Result<> emit(op::Event) override { return refusal(); }
  Task<Result<>> drained() override { co_return refusal(); }
  Result<> open(std::string, std::optional<std::uint64_t>) override { return refusal(); }
  Task<Result<>> write(std::string) override { co_return refusal(); }

 private:
  static Result<> refusal() {
    return fail(Code::kUnsupported,
                "this answers with a stream, which the bus does not carry; ask over HTTP");
  }
};

Task<Result<json::Value>> run(std::shared_ptr<const op::Operation> operation, LocalCall call) {
  json::Value data = call.data.is_null() ? json::Value::object() : std::move(call.data);
  if (json::Object* object = data.as_object()) object->erase("_caller_worker_id");  // of a payload handed on
  Result<json::Value> args = op::prepare(*operation, call.context.principal, std::move(data));
  if (!args) co_return fail(args.error());
  if (call.caller) call.context.worker = call.caller->id;
  NoStream nowhere;
  switch (operation->kind) {
    case op::Kind::kValue:
      co_return co_await std::get<op::ValueHandler>(operation->handler)(std::move(call.context),
                                                                        std::move(*args));
    case op::Kind::kEvents:
      co_return co_await std::get<op::EventsHandler>(operation->handler)(std::move(call.context),
                                                                         std::move(*args), nowhere);
    case op::Kind::kBytes:
      break;
  }
  const Result<> done = co_await std::get<op::BytesHandler>(operation->handler)(std::move(call.context),
                                                                                std::move(*args), nowhere);
  if (!done) co_return fail(done.error());
  co_return json::Value();
}

}  // namespace

Result<> add_operation_functions(Bus& bus, const op::Registry& operations) {
  for (const std::shared_ptr<const op::Operation>& operation : operations.list()) {
    Result<> added =
        bus.add({.spec = {.id = operation->id,
                          .description = operation->help,
                          .request_format = json::write(operation->in),
                          .response_format = json::write(operation->out),
                          .metadata = {}},
                 .replaceable = operation->kind == op::Kind::kBytes ? Replaceable::kNo : Replaceable::kYes,
                 .handler = [operation](LocalCall call) { return run(operation, std::move(call)); }});
    if (!added) return added;
  }
  return {};
}

}  // namespace chela::bus
