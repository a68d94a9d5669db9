#include "api/operations.h"
#include "app/program.h"
#include "cli/commands.h"
#include "net/curl_client.h"
#include "security/authenticator.h"

// Commands that call functions of a bus.
namespace chela::app {
namespace {

constexpr std::string_view kUsualAddress = "http://127.0.0.1:49134";

}  // namespace

// Named, else of the environment, else the engine of this home, else where an engine listens that was told nothing.
Result<cli::BusAddress> Program::bus_address(const cli::BusCommand& command) const {
  const auto named = environment_.find("III_URL");
  const std::string url = !command.url.empty()          ? command.url
                          : named != environment_.end() ? named->second
                                                        : "";
  cli::BusAddress address{.url = std::string(kUsualAddress)};
  if (!url.empty()) {
    Result<cli::BusAddress> parsed = cli::parse_bus_address(url);
    if (!parsed) return parsed;
    address = std::move(*parsed);
  } else if (const Result<EngineFile> running = read_engine_file(paths_.engine_file);
             running && running->ports.contains("bus") && config_) {
    const config::Settings& settings = config_->settings();
    address.url = address_of(settings.bus.host, running->ports.at("bus"));
    Result<std::string> token = security::ensure_gateway_token(paths_.home, settings.gateway.auth_token);
    if (!token) return fail(token.error());
    address.token = std::move(*token);
  }
  if (!command.token.empty()) address.token = command.token;
  return address;
}

Task<int> Program::call_function(cli::BusCommand command) {
  const bool elsewhere = !command.url.empty() || environment_.contains("III_URL");
  const api::Services none;  // only the ids are needed
  op::Registry registry;
  if (const Result<> added = api::add_operations(registry, none); !added)
    co_return cli::report_error(added.error(), output_);
  // An operation needs no bus, and no engine that runs.
  if (!elsewhere && registry.find(command.function)) {
    const cli::OperationCommand operation{
        .operation = command.function, .args = command.data, .json = command.json};
    const auto use = [this, operation](cli::Client& client, const op::Registry& known) {
      return cli::run_operation(client, known, operation, output_, leaving_.get_token());
    };
    co_return co_await with_client(use, Foundation::Storage::kFile, Fetch::kNo);
  }
  const Result<cli::BusAddress> address = bus_address(command);
  if (!address) co_return cli::report_error(address.error(), output_);
  const std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop_);
  const Result<json::Value> value =
      co_await cli::call_bus(*http, *address, command.function, command.data, leaving_.get_token());
  if (!value && value.error().code == Code::kUnavailable && value.error().detail("bus_code").empty())
    co_return cli::report_error(
        {.code = Code::kNotFound,
         .message =
             fmt::format("no bus answers: {}; start chela run or chela engine, or say where it is with --url",
                         value.error().message)},
        output_);
  if (!value) co_return cli::report_error(value.error(), output_);
  if (command.json) {
    output_.line(json::write(*value));
  } else {
    output_.text(cli::text_for(command.function, *value));
  }
  co_return 0;
}

// For a line that is being typed: nobody there is no problem.
Task<std::vector<cli::Completions::Word>> Program::words_of_bus(BusList of) {
  std::vector<cli::Completions::Word> words;
  const Result<cli::BusAddress> address = bus_address({.function = {}});
  if (!config_ || !address) co_return words;
  const std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop_);
  const Result<json::Value> listed =
      co_await cli::call_bus(*http, *address, std::string(of.function), json::Value::object(), {});
  if (!listed) co_return words;
  const json::Value* rows = of.list.empty() ? &*listed : listed->find(of.list);
  for (size_t i = 0; rows && rows->as_array() && i < rows->as_array()->size(); ++i) {
    const json::Value& row = (*rows->as_array())[i];
    words.push_back({.word = row.string_or(of.word), .help = row.string_or(of.help)});
  }
  co_return words;
}

}  // namespace chela::app
