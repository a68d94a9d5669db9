#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace chela::cli {
namespace {

constexpr int kUsageError = 2;

// Builds the tree of commands; what is parsed lands in out_.
class Parser {
 public:
  Parser() : app_("Chela: an agent engine on your own machine. Without a command it runs.", "chela") {
    app_.require_subcommand(0, 1);
    app_.get_formatter()->column_width(34);
    add_run(app_);
    app_.add_flag_callback("--version", [this] { out_.command = VersionCommand{}; }, "print the version");
    add_run(*command("run", "the engine with gateway and chat (what `chela` alone does)"));
    add_threads();
    add_memory();
    add_models();
    add_tokens();
    add_others();
  }

  std::variant<CommandLine, ParseEnd> parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return end_of(error);
    }
    if (app_.got_subcommand("run") ||
        (app_.get_subcommands().empty() && !std::holds_alternative<VersionCommand>(out_.command))) {
      if (app_.count_all() > 0 && run_.message && run_.message->empty()) return usage("-m needs a text");
      out_.command = run_;
    }
    if (auto* call = std::get_if<OperationCommand>(&out_.command)) call->json = json_;
    for (const std::string& each : settings_) {
      const size_t equals = each.find('=');
      if (equals == std::string::npos || equals == 0)
        return usage("--set takes KEY=VALUE, not '" + each + "'");
      out_.settings.emplace_back(each.substr(0, equals), each.substr(equals + 1));
    }
    return out_;
  }

 private:
  static ParseEnd usage(const std::string& what) {
    return {.exit_code = kUsageError, .out = {}, .err = "chela: " + what + "\nNext step: chela --help\n"};
  }

  ParseEnd end_of(const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage(error.what());
    const CLI::App* asked = &app_;
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
    return {.exit_code = 0, .out = asked->help(), .err = {}};
  }

  CLI::App* command(const std::string& name, const std::string& help, CLI::App* parent = nullptr) {
    CLI::App* added = (parent != nullptr ? parent : &app_)->add_subcommand(name, help);
    add_common(*added);
    return added;
  }

  void add_common(CLI::App& app) {
    app.add_option("--home", out_.home, "folder of the engine's state (else CHELA_HOME, else ~/.chela)")
        ->type_name("DIR");
    app.add_option("--set", settings_, "a setting for this start: --set llm.model=gpt-4o")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
  }

  void add_run(CLI::App& app) {
    if (&app == &app_) add_common(app);
    app.add_option_function<std::string>(
           "-m,--message", [this](const std::string& text) { run_.message = text; },
           "answer this message on stdout and leave")
        ->type_name("TEXT");
    app.add_flag("--json", run_.json, "print the turn's events as JSON lines");
    app.add_option("--thread", run_.thread, "go on with this thread")->type_name("ID");
    app.add_option("--agent", run_.agent, "talk to this agent")->type_name("NAME");
    app.add_flag("--headless", run_.headless, "no chat: serve until SIGTERM");
    app.add_flag("--cli-only", run_.cli_only, "no gateway");
    app.add_flag("--no-db", run_.no_db, "keep everything in memory");
    app.add_flag("--no-onboard", run_.no_onboard, "never fetch a model at the first start");
    app.add_option_function<std::string>(
           "--port", [this](const std::string& port) { settings_.push_back("gateway.port=" + port); },
           "port of the gateway (0: a free one)")
        ->type_name("N");
  }

  // A command that calls an operation. The returned one takes the options; `args` is asked when it was chosen.
  CLI::App* operation(const std::string& name, const std::string& help, std::string id,
                      std::function<json::Value()> args, CLI::App* parent = nullptr) {
    CLI::App* added = command(name, help, parent);
    added->add_flag("--json", json_, "print the value as JSON");
    added->callback([this, id = std::move(id), args = std::move(args)] {
      out_.command = OperationCommand{.operation = id, .args = args()};
    });
    return added;
  }

  static json::Value none() { return json::Value::object(); }

  void add_threads() {
    operation("threads", "your threads, the most recently used first", "thread::list",
              [this] { return json::Value::object({{"limit", limit_}}); })
        ->add_option("--limit", limit_, "at most so many")
        ->type_name("N");
    CLI::App* history = operation("history", "the turns of a thread", "chat::history", [this] {
      return json::Value::object({{"thread_id", id_}, {"channel", "cli"}, {"limit", limit_}});
    });
    history->add_option("THREAD", id_, "else the command line's active one");
    history->add_option("--limit", limit_, "the last so many turns")->type_name("N");
    CLI::App* log =
        operation("log", "what the engine did in a thread, record by record", "thread::log",
                  [this] { return json::Value::object({{"id", id_}, {"after", seq_}, {"limit", 10000}}); });
    log->add_option("THREAD", id_)->required();
    log->add_option("--after", seq_, "only records after this one")->type_name("SEQ");
    CLI::App* replay =
        operation("replay", "run a thread's log again and compare every step", "thread::replay",
                  [this] { return json::Value::object({{"id", id_}, {"until", seq_}}); });
    replay->add_option("THREAD", id_)->required();
    replay->add_option("--until", seq_, "the last record (else all)")->type_name("SEQ");
    CLI::App* fork = operation("fork", "a new thread that goes on from a record of another", "thread::fork",
                               [this] { return json::Value::object({{"id", id_}, {"at", seq_}}); });
    fork->add_option("THREAD", id_)->required();
    fork->add_option("--at", seq_, "the last record to keep")->type_name("SEQ")->required();
  }

  void add_memory() {
    CLI::App* memory = command("memory", "the documents that agents remember");
    memory->require_subcommand(1);
    operation("tree", "all documents", "memory::tree", none, memory);
    operation(
        "read", "one document", "memory::read", [this] { return json::Value::object({{"path", id_}}); },
        memory)
        ->add_option("PATH", id_)
        ->required();
    CLI::App* write = operation(
        "write", "replace one document", "memory::write",
        [this] { return json::Value::object({{"path", id_}, {"content", text_}}); }, memory);
    write->add_option("PATH", id_)->required();
    write->add_option("TEXT", text_)->required();
    CLI::App* search = operation(
        "search", "search all documents", "memory::search",
        [this] {
          return json::Value::object({{"query", text_}, {"limit", limit_ == kDefaultLimit ? 10 : limit_}});
        },
        memory);
    search->add_option("QUERY", text_)->required();
    search->add_option("--limit", limit_, "at most so many results")->type_name("N");
  }

  void add_models() {
    CLI::App* models = command("models", "the models of the configured backend; fetching local ones");
    models->require_subcommand(1);
    operation("list", "the models that can be used", "model::list", none, models);
    CLI::App* pull = command("pull", "fetch a local model: local/small", models);
    pull->add_option("MODEL", id_)->required();
    pull->callback([this] { out_.command = PullCommand{.model = id_}; });
  }

  void add_tokens() {
    CLI::App* tokens = command("token", "tokens for programs that use the gateway");
    tokens->require_subcommand(1);
    CLI::App* create = operation(
        "create", "make a token and print it, this once", "token::create",
        [this] {
          json::Value args = json::Value::object({{"label", text_}});
          if (!expires_.empty()) args.set("expires_in", expires_);
          for (const std::string& each : permissions_) {
            if (!args.find("permissions")) args.set("permissions", json::Value::array());
            args.find("permissions")->push_back(each);
          }
          return args;
        },
        tokens);
    create->add_option("--label", text_, "what it is for");
    create->add_option("--permission", permissions_,
                       "what it may do, for example chat:write (else chat:* and memory:*)");
    create->add_option("--expires-in", expires_, "for example 12h or 30d (else never)")
        ->type_name("DURATION");
    operation("list", "all tokens", "token::list", none, tokens);
    operation(
        "revoke", "end a token at once", "token::revoke",
        [this] { return json::Value::object({{"id", id_}}); }, tokens)
        ->add_option("ID", id_)
        ->required();
  }

  void add_others() {
    operation("tools", "the tools that agents can call", "tool::list", none);
    operation("agents", "the agents that can be talked to", "agent::list", none);
    operation("status", "version, ports and model of the engine", "system::status", none);
    CLI::App* call = operation(
        "call", "any operation, by its name: chela call chat::send '{\"content\": \"hello\"}'", {}, none);
    call->add_option("OPERATION", id_)->required();
    call->add_option("ARGUMENTS", text_, "a JSON object");
    call->callback([this] {
      const Result<json::Value> args = json::parse(text_.empty() ? "{}" : text_);
      if (!args || !args->is_object()) throw CLI::ValidationError("ARGUMENTS", "expected a JSON object");
      out_.command = OperationCommand{.operation = id_, .args = *args};
      json_ = true;
    });
    CLI::App* config = command("config", "the settings, their values and where they come from");
    config->add_option("KEY", id_, "explain this one");
    config->callback([this] { out_.command = ConfigCommand{.key = id_}; });
    command("version", "print the version")->callback([this] { out_.command = VersionCommand{}; });
  }

  static constexpr int kDefaultLimit = 50;

  CLI::App app_;
  CommandLine out_;
  RunCommand run_;
  std::vector<std::string> settings_;
  std::vector<std::string> permissions_;
  std::string id_, text_, expires_;
  int limit_ = kDefaultLimit;
  std::int64_t seq_ = 0;
  bool json_ = false;
};

}  // namespace

std::variant<CommandLine, ParseEnd> parse_command_line(int argc, const char* const* argv) {
  Parser parser;
  return parser.parse(argc, argv);
}

}  // namespace chela::cli
