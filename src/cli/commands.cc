#include "cli/commands.h"

namespace chela::cli {
namespace {

using json::Value;

// What shows the names that there are.
std::string_view lists(std::string_view operation) {
  if (operation.starts_with("thread::") || operation == "chat::history") return "chela threads";
  if (operation.starts_with("memory::")) return "chela memory tree";
  if (operation.starts_with("token::")) return "chela token list";
  if (operation.starts_with("vault::")) return "chela secret list";
  return {};
}

int report_failure(const OperationCommand& command, const Error& error, const Output& output) {
  const int code = report_error(error, output);
  const std::string_view listing = lists(command.operation);
  if (error.code == Code::kNotFound && !listing.empty())
    output.note(fmt::format("Next step: {} shows what there is.", listing));
  return code;
}

Task<int> print_events(Client& client, OperationCommand command, const Output& output, std::stop_token stop) {
  Result<std::unique_ptr<EventReader>> reader =
      co_await client.open(command.operation, std::move(command.args), stop);
  if (!reader) co_return report_error(reader.error(), output);
  while (true) {
    const Result<std::optional<op::Event>> event = co_await (*reader)->next(stop);
    if (!event) co_return report_error(event.error(), output);
    if (!*event) break;
    output.line((*event)->data);
  }
  co_return stop.stop_requested() ? exit_code(Code::kCancelled) : 0;
}

// All records, page by page, each as a line.
Task<int> print_log(Client& client, OperationCommand command, const Output& output, std::stop_token stop) {
  while (true) {
    const Result<Value> page = co_await client.call(command.operation, command.args, stop);
    if (!page) co_return report_failure(command, page.error(), output);
    const Value* records = page->find("records");
    if (!records || !records->is_array() || records->as_array()->empty()) co_return 0;
    for (const Value& each : *records->as_array()) output.line(json::write(each));
    const std::int64_t last = records->as_array()->back().int_or("seq", 0);
    if (last <= command.args.int_or("after", 0)) co_return 0;
    command.args.set("after", last);
  }
}

// Exit code of a value that came, but says that something is wrong.
int verdict(std::string_view operation, const Value& value) {
  if (operation == "model::test" && !value.bool_or("ok", true)) {
    const Value* error = value.find("error");
    const std::optional<Code> code = code_from_name(error != nullptr ? error->string_or("code") : "");
    return exit_code(code.value_or(Code::kUpstream));
  }
  if (operation != "thread::replay") return 0;
  const Value* differences = value.find("differences");
  return differences && differences->is_array() && !differences->as_array()->empty()
             ? exit_code(Code::kInternal)
             : 0;
}

}  // namespace

int report_error(const Error& error, const Output& output) {
  output.note("chela: " + error.message);
  return exit_code(error.code);
}

Task<int> run_operation(Client& client, const op::Registry& registry, OperationCommand command,
                        const Output& output, std::stop_token stop) {
  const std::shared_ptr<const op::Operation> operation = registry.find(command.operation);
  if (operation && operation->kind == op::Kind::kEvents) {
    co_return co_await print_events(client, std::move(command), output, std::move(stop));
  }
  if (command.operation == "thread::log") {
    co_return co_await print_log(client, std::move(command), output, std::move(stop));
  }
  const Result<Value> value =
      co_await client.call(command.operation, std::move(command.args), std::move(stop));
  if (!value) co_return report_failure(command, value.error(), output);
  if (const std::string warning = value->string_or("warning"); !warning.empty()) {
    output.note("chela: " + warning);
    co_return 0;
  }
  if (!command.member.empty()) {
    const Value* member = value->find(command.member);
    const std::string* text = member ? member->as_string() : nullptr;
    if (member && !member->is_null()) output.line(text ? printable(*text) : json::write(*member));
    co_return 0;
  }
  if (command.json) {
    output.line(json::write(*value));
  } else {
    output.text(text_for(command.operation, *value));
    if (command.operation == "token::create") output.note("Keep it: it is shown this once.");
  }
  co_return verdict(command.operation, *value);
}

}  // namespace chela::cli
