#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/command_line.h"
#include "cli/command_tree.h"
#include "cli/parse_end.h"

namespace chela::cli {
namespace {

constexpr std::string_view kRun = "run";
constexpr std::string_view kEngine = "engine";

// Builds the tree of commands; what is parsed lands in out_.
class Parser {
 public:
  // `only` is a first word: if it begins a server, the other commands are left out, as they would be a fifth of its start.
  explicit Parser(std::string_view only = {})
      : app_("Chela: an agent engine on your own machine. Without a command it runs.", "chela") {
    app_.require_subcommand(0, 1);
    app_.get_formatter()->column_width(34);
    if (only == kEngine) {
      add_engine();
      return;
    }
    add_run(app_);
    app_.add_flag_callback("--version", [this] { out_.command = VersionCommand{}; }, "print the version");
    add_run(*command(std::string(kRun), "the engine with gateway and chat (what `chela` alone does)"));
    if (only == kRun) return;
    add_chat();
    add_threads();
    add_usage();
    add_memory();
    add_models();
    add_tokens();
    add_secrets();
    add_upkeep();
    add_config();
    add_engine();
    add_bus();
    add_others();
  }

  const CLI::App& app() const { return app_; }

  std::variant<CommandLine, ParseEnd> parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return end_of(app_, error);
    }
    const std::string chosen =
        app_.get_subcommands().empty() ? "" : app_.get_subcommands().front()->get_name();
    if (chosen == "help") return help_of(app_, help_words_);
    if (chosen == kRun || chosen == "chat" ||
        (chosen.empty() && !std::holds_alternative<VersionCommand>(out_.command))) {
      if (app_.count_all() > 0 && run_.message && run_.message->empty())
        return usage_error("-m needs a text");
      out_.command = run_;
    }
    if (auto* call = std::get_if<OperationCommand>(&out_.command)) call->json = json_;
    if (auto* call = std::get_if<BusCommand>(&out_.command)) call->json = json_;
    for (const std::string& each : settings_) {
      const size_t equals = each.find('=');
      if (equals == std::string::npos || equals == 0)
        return usage_error("--set takes KEY=VALUE, not '" + each + "'");
      out_.settings.emplace_back(each.substr(0, equals), each.substr(equals + 1));
    }
    return out_;
  }

 private:
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
    add_conversation(app);
    app.add_flag("--headless", run_.headless, "no chat: serve until SIGTERM");
    app.add_flag("--cli-only", run_.cli_only, "no gateway");
    app.add_flag("--no-db", run_.no_db, "keep everything in memory");
    app.add_flag("--no-onboard", run_.no_onboard, "at the first start ask nothing and fetch no model");
    app.add_option_function<std::string>(
           "--port", [this](const std::string& port) { settings_.push_back("gateway.port=" + port); },
           "port of the gateway (0: a free one)")
        ->type_name("N");
  }

  // Without an engine that runs, one that only the commands of this home reach, for as long as the chat lasts.
  void add_chat() {
    CLI::App* chat =
        command("chat", "talk to an agent: of the engine that runs, else of one that ends with the chat");
    add_conversation(*chat);
    chat->callback([this] { run_.cli_only = true; });
  }

  void add_conversation(CLI::App& app) {
    app.add_option_function<std::string>(
           "-m,--message", [this](const std::string& text) { run_.message = text; },
           "answer this message on stdout and leave")
        ->type_name("TEXT");
    app.add_flag("--json", run_.json, "print the turn's events as JSON lines");
    app.add_option("--thread", run_.thread, "go on with this thread; latest: the one used last")
        ->type_name("THREAD");
    app.add_option("--agent", run_.agent, "talk to this agent")->type_name("AGENT");
    app.add_flag("--no-color", run_.no_color, "no colours on the terminal (as NO_COLOR=1)");
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
    CLI::App* threads =
        operation("threads", "your threads, the most recently used first", "thread::list", [this] {
          json::Value args = json::Value::object({{"limit", limit_}});
          if (!text_.empty()) args.set("q", text_);
          return args;
        });
    threads->add_option("--limit", limit_, "at most so many")->type_name("N");
    threads->add_option("--search", text_, "only those that these words are in")->type_name("WORDS");
    CLI::App* history = operation("history", "the turns of a thread", "chat::history", [this] {
      return json::Value::object({{"thread_id", id_}, {"channel", "cli"}, {"limit", limit_}});
    });
    history->add_option("THREAD", id_, "else the command line's active one");
    history->add_option("--limit", limit_, "the last so many turns")->type_name("N");
    CLI::App* log =
        operation("log", "what the engine did in a thread, record by record", "thread::log",
                  [this] { return json::Value::object({{"id", id_}, {"after", seq_}, {"limit", 10000}}); });
    log->add_option("THREAD", id_, kThreadHelp)->required();
    log->add_option("--after", seq_, "only records after this one")->type_name("SEQ");
    CLI::App* replay =
        operation("replay", "run a thread's log again and compare every step", "thread::replay",
                  [this] { return json::Value::object({{"id", id_}, {"until", seq_}}); });
    replay->add_option("THREAD", id_, kThreadHelp)->required();
    replay->add_option("--until", seq_, "the last record (else all)")->type_name("SEQ");
    CLI::App* fork = operation("fork", "a new thread that goes on from a record of another", "thread::fork",
                               [this] { return json::Value::object({{"id", id_}, {"at", seq_}}); });
    fork->add_option("THREAD", id_, kThreadHelp)->required();
    fork->add_option("--at", seq_, "the last record to keep")->type_name("SEQ")->required();
    add_traces();
  }

  void add_traces() {
    CLI::App* record = operation(
        "record", "write a trace of every conversation: on (if nothing is said), off or status", {}, none);
    record->add_option("STATE", id_, "on, off or status")->check(CLI::IsMember({"on", "off", "status"}));
    record->callback([this] {
      json::Value args = json::Value::object({{"key", "traces.record"}});
      if (id_ != "status") args.set("value", id_ == "off" ? "false" : "true");
      out_.command = OperationCommand{.operation = id_ == "status" ? "setting::get" : "setting::set",
                                      .args = std::move(args)};
    });
    operation("export-trace", "a thread as a trace, which replay-trace plays again", "thread::export",
              [this] { return json::Value::object({{"id", id_}}); })
        ->add_option("THREAD", id_, kThreadHelp)
        ->required();
    CLI::App* replay = command("replay-trace",
                               "play traces on an engine of their own: agent and tools are real, the model "
                               "and HTTP answer as recorded");
    replay->add_option("FILE", trace_.files, "a trace, or a folder of them")->required();
    replay->add_flag("--strict", trace_.strict,
                     "also fail at requests and results that were recorded otherwise");
    replay->add_flag("--rewrite", trace_.rewrite,
                     "change the files: what was expected and is not so any more becomes what is");
    replay->add_flag("--json", trace_.json, "print the reports as JSON");
    replay->callback([this] { out_.command = trace_; });
  }

  void add_usage() {
    CLI::App* usage =
        operation("usage", "what calls of models have used and cost, and what is left of the limits",
                  "usage::days", [this] {
                    json::Value args = json::Value::object({{"days", days_}, {"by", by_}});
                    if (!id_.empty()) args.set("key", id_);
                    return args;
                  });
    usage->add_option("--days", days_, "of the last so many days, today included (default 30)")
        ->type_name("N");
    usage->add_option("--key", id_, "show the limits of this token, by its id")->type_name("ID");
    usage->add_option("--by", by_, "day, model or agent")->check(CLI::IsMember({"day", "model", "agent"}));
  }

  void add_memory() {
    CLI::App* memory = command("memory", "the documents that agents remember");
    memory->require_subcommand(1);
    operation("tree", "all documents", "memory::tree", none, memory);
    operation(
        "read", "one document", "memory::read", [this] { return json::Value::object({{"path", id_}}); },
        memory)
        ->add_option("PATH", id_, "its path (chela memory tree lists them)")
        ->required();
    CLI::App* write = operation(
        "write", "replace one document", "memory::write",
        [this] { return json::Value::object({{"path", id_}, {"content", text_}}); }, memory);
    write->add_option("PATH", id_, "its path (chela memory tree lists them)")->required();
    write->add_option("TEXT", text_, "its new content")->required();
    CLI::App* search = operation(
        "search", "search all documents", "memory::search",
        [this] {
          return json::Value::object({{"query", text_}, {"limit", limit_ == kDefaultLimit ? 10 : limit_}});
        },
        memory);
    search->add_option("QUERY", text_, "the words to look for")->required();
    search->add_option("--limit", limit_, "at most so many results")->type_name("N");
  }

  void add_models() {
    CLI::App* models = command("models", "models and their providers; fetching local ones");
    models->require_subcommand(1);
    CLI::App* list = operation("list", "the models of the backend", "model::list", none, models);
    list->add_flag("--all", all_, "those of all providers instead, with prices");
    list->add_option("--provider", text_, "those of this provider")->type_name("ID");
    list->callback([this] {
      if (all_ || !text_.empty()) {
        out_.command = OperationCommand{.operation = "catalog::models",
                                        .args = json::Value::object({{"provider", text_}})};
      } else {
        out_.command = OperationCommand{.operation = "model::list", .args = none()};
      }
    });
    operation("aliases", "short names of models", "catalog::aliases", none, models);
    operation("providers", "the providers there are, and which have a key", "catalog::providers", none,
              models);
    const auto named = [this] { return json::Value::object({{"model", id_}}); };
    operation("test", "one tiny call: how long it takes, or what is wrong", "model::test", named, models)
        ->add_option("MODEL", id_, "PROVIDER/MODEL, an id or an alias (else the default)");
    operation("use", "the model that is asked from now on when nobody names one", "model::use", named, models)
        ->add_option("MODEL", id_, "PROVIDER/MODEL, an id or an alias")
        ->required();
    CLI::App* pull = command("pull", "fetch a local model: local/small", models);
    pull->add_option("MODEL", id_, "local/small")->required();
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
          for (const std::string& each : models_) {
            if (!args.find("models")) args.set("models", json::Value::array());
            args.find("models")->push_back(each);
          }
          if (day_cents_ >= 0) args.set("day_cents", day_cents_);
          if (month_cents_ >= 0) args.set("month_cents", month_cents_);
          return args;
        },
        tokens);
    create->add_option("--label", text_, "what it is for");
    create->add_option("--permission", permissions_,
                       "what it may do, for example chat:write (else chat:*, memory:* and tools:*)");
    create->add_option("--model", models_,
                       "a model or agent that it may use; a '*' at the end: all that begin so (else all)");
    create->add_option("--day-cents", day_cents_, "what its calls of models may cost a day")
        ->type_name("CENTS");
    create->add_option("--month-cents", month_cents_, "what they may cost a month")->type_name("CENTS");
    create->add_option("--expires-in", expires_, "for example 12h or 30d (else never)")
        ->type_name("DURATION");
    operation("list", "all tokens", "token::list", none, tokens);
    operation(
        "revoke", "end a token at once", "token::revoke",
        [this] { return json::Value::object({{"id", id_}}); }, tokens)
        ->add_option("ID", id_, "its id (chela token list shows it)")
        ->required();
  }

  void add_secrets() {
    CLI::App* secrets = command("secret", "keys and passwords in the vault");
    secrets->require_subcommand(1);
    operation("list", "their names", "vault::list", none, secrets);
    CLI::App* set = command("set", "keep one; its value is asked for, or read from standard input", secrets);
    set->add_option("NAME", id_, "its name")->required();
    set->add_flag("--json", json_, "print the answer as JSON");
    set->callback([this] { out_.command = SecretCommand{.name = id_, .json = json_}; });
    operation(
        "delete", "delete one", "vault::delete", [this] { return json::Value::object({{"name", id_}}); },
        secrets)
        ->add_option("NAME", id_, "its name")
        ->required();
  }

  void add_upkeep() {
    CLI::App* status = command("status", "the engine that runs: pid, uptime, ports, model, clients, memory");
    status->add_flag("--json", json_, "print the value as JSON");
    status->callback([this] { out_.command = StatusCommand{.json = json_}; });
    CLI::App* onboard = command("onboard", "first steps: provider, key, model, a test call");
    onboard->add_flag("--skip-auth", skip_auth_, "ask for no key");
    onboard->callback([this] { out_.command = OnboardCommand{.skip_auth = skip_auth_}; });
    CLI::App* doctor = command("doctor", "look for what is wrong or missing, and say what to do");
    doctor->add_flag("--json", json_, "print the findings as JSON");
    doctor->callback([this] { out_.command = DoctorCommand{.json = json_}; });
    CLI::App* service = command("service", "the engine as a service that systemd keeps running");
    service->require_subcommand(1);
    using What = ServiceCommand::What;
    add_service(*service, "install", "write the unit and have it started with your session", What::kInstall);
    add_service(*service, "start", "start it", What::kStart);
    add_service(*service, "stop", "stop it", What::kStop);
    add_service(*service, "status", "whether it runs (exit code 0) or not", What::kStatus);
    add_service(*service, "print", "show the unit that install would write", What::kPrint);
    add_service(*service, "uninstall", "stop it and remove the unit; the state stays", What::kUninstall);
  }

  void add_service(CLI::App& service, const std::string& name, const std::string& help,
                   ServiceCommand::What what) {
    CLI::App* added = command(name, help, &service);
    added->add_flag("--system", system_, "a service of the machine (as root) instead of the user's own");
    added->callback([this, what] { out_.command = ServiceCommand{.what = what, .system = system_}; });
  }

  void add_config() {
    CLI::App* config = operation("config", "the settings, their values and where they come from", {}, none);
    config->add_option("KEY", id_, "explain this one");
    config->callback([this, config] {
      if (!config->get_subcommands().empty()) return;
      if (id_.empty()) {
        out_.command = OperationCommand{.operation = "setting::list"};
      } else {
        out_.command = OperationCommand{.operation = "setting::get", .args = key()};
      }
    });
    CLI::App* list = operation(
        "list", "all settings", "setting::list", [this] { return json::Value::object({{"prefix", text_}}); },
        config);
    list->add_option("-f,--filter", text_, "only keys that begin so")->type_name("PREFIX");
    CLI::App* get = command("get", "the value of one, alone", config);
    get->add_option("KEY", id_, "its name (chela config lists them)")->required();
    get->callback([this] {
      out_.command = OperationCommand{.operation = "setting::get", .args = key(), .member = "value"};
    });
    CLI::App* set = operation(
        "set", "keep a value among the settings of the engine", "setting::set",
        [this] { return json::Value::object({{"key", id_}, {"value", text_}}); }, config);
    set->add_option("KEY", id_, "its name (chela config lists them)")->required();
    set->add_option("VALUE", text_, "what it is to be")->required();
    operation(
        "reset", "forget a kept value", "setting::reset", [this] { return key(); }, config)
        ->add_option("KEY", id_, "its name (chela config lists them)")
        ->required();
    command("path", "where the configuration file is", config)->callback([this] {
      out_.command = ConfigFileCommand{};
    });
    CLI::App* init = command("init", "write a configuration file to fill in", config);
    init->add_option("-o,--output", text_, "write it here")->type_name("FILE");
    init->add_flag_callback(
        "--force", [this] { replace_ = ConfigFileCommand::Replace::kYes; }, "replace what is there");
    init->callback([this] {
      out_.command =
          ConfigFileCommand{.action = ConfigFileCommand::Action::kInit, .output = text_, .replace = replace_};
    });
  }

  void add_engine() {
    CLI::App* engine =
        app_.add_subcommand(std::string(kEngine),
                            "the bus alone, with a configuration file of iii: functions, triggers, workers");
    engine->add_option("-c,--config", engine_.config, "the file (else config.yaml)")->type_name("FILE");
    engine->add_flag("--use-default-config", engine_.use_default, "no file: the default modules and ports");
    engine->add_option("--announce", engine_.announce, "write pid and ports here once it is ready")
        ->type_name("FILE");
    engine->callback([this] { out_.command = engine_; });
  }

  void add_bus_options(CLI::App& app) {
    app.add_option("--url", bus_.url, "the bus, ws://host:port (else III_URL, else the engine that runs)")
        ->type_name("URL");
    app.add_option("--token", bus_.token, "what it asks for (else that of the engine of this home)")
        ->type_name("TOKEN");
  }

  // A command that calls a function of the bus; `data` is asked when it was chosen.
  CLI::App* function(const std::string& name, const std::string& help, std::string id,
                     std::function<json::Value()> data, CLI::App* parent = nullptr) {
    CLI::App* added = command(name, help, parent);
    added->add_flag("--json", json_, "print the value as JSON");
    add_bus_options(*added);
    added->callback([this, id = std::move(id), data = std::move(data)] {
      bus_.function = id;
      bus_.data = data();
      out_.command = bus_;
    });
    return added;
  }

  json::Value search_all() const {
    json::Value data = json::Value::object({{"include_internal", all_}});
    if (!text_.empty()) data.set("search", text_);
    return data;
  }

  void add_bus() {
    const auto searched = [this](CLI::App* app, const std::string& internal) {
      app->add_option("--search", text_, "only those with this text")->type_name("TEXT");
      if (!internal.empty()) app->add_flag("--all", all_, internal);
    };
    const auto search = [this] { return search_all(); };
    searched(function("functions", "the functions that can be called", "engine::functions::list", search),
             "those of engine:: too, which look after the engine itself");
    searched(function("triggers", "the registered triggers", "engine::registered-triggers::list", search),
             "those of the engine's own types too");
    searched(function("workers", "the connected workers", "engine::workers::list", search), "");
    CLI::App* worker = command("worker", "workers: programs that provide functions");
    worker->require_subcommand(1);
    CLI::App* token = operation(
        "token", "make a token for a worker and print it, this once", "token::create",
        [this] {
          json::Value args = json::Value::object({{"label", text_.empty() ? "worker" : text_}});
          if (!expires_.empty()) args.set("expires_in", expires_);
          json::Value permissions = json::Value::array({"bus:call", "bus:register"});
          for (const std::string& each : permissions_) permissions.push_back(each);
          args.set("permissions", std::move(permissions));
          return args;
        },
        worker);
    token->add_option("--label", text_, "what it is for");
    token->add_option("--permission", permissions_, "what it may do beside bus:call and bus:register");
    token->add_option("--expires-in", expires_, "for example 12h or 30d (else never)")->type_name("DURATION");
    add_queues();
  }

  void add_queues() {
    CLI::App* queue = command("queue", "queues and topics, and what they could not deliver");
    queue->require_subcommand(1);
    function("list", "all of them", "engine::queue::list_topics", none, queue);
    function(
        "stats", "one of them", "engine::queue::topic_stats",
        [this] { return json::Value::object({{"topic", id_}}); }, queue)
        ->add_option("QUEUE", id_, "its name (chela queue list shows them)")
        ->required();
    function("dead", "those with messages that could not be delivered", "engine::queue::dlq_topics", none,
             queue);
    CLI::App* messages = function(
        "messages", "the messages of one that could not be delivered", "engine::queue::dlq_messages",
        [this] { return json::Value::object({{"topic", id_}, {"limit", limit_}}); }, queue);
    messages->add_option("QUEUE", id_, "its name (chela queue list shows them)")->required();
    messages->add_option("--limit", limit_, "at most so many")->type_name("N");
    CLI::App* redrive = function("redrive", "deliver them again", "iii::queue::redrive", none, queue);
    redrive->add_option("QUEUE", id_, "its name (chela queue list shows them)")->required();
    redrive->add_option("MESSAGE", text_, "only this one");
    redrive->callback([this] {
      bus_.function = text_.empty() ? "iii::queue::redrive" : "iii::queue::redrive_message";
      bus_.data = json::Value::object({{"queue", id_}});
      if (!text_.empty()) bus_.data.set("message_id", text_);
      out_.command = bus_;
    });
    CLI::App* discard = function(
        "discard", "forget one of them", "iii::queue::discard_message",
        [this] { return json::Value::object({{"queue", id_}, {"message_id", text_}}); }, queue);
    discard->add_option("QUEUE", id_, "its name (chela queue list shows them)")->required();
    discard->add_option("MESSAGE", text_, "its id (chela queue messages shows it)")->required();
  }

  json::Value key() const { return json::Value::object({{"key", id_}}); }

  void add_others() {
    operation("tools", "the tools that agents can call", "tool::list", none);
    operation("agents", "the agents that can be talked to", "agent::list", none);
    CLI::App* call =
        command("call", "any function by its id: chela call state::get '{\"scope\": \"s\", \"key\": \"k\"}'");
    call->add_option("FUNCTION", id_, "its id (chela functions --all lists them)")->required();
    call->add_option("ARGUMENTS", text_, "a JSON object");
    call->add_flag("--json", json_, "print the value as JSON (as it always is)");
    add_bus_options(*call);
    call->callback([this] {
      const Result<json::Value> args = json::parse(text_.empty() ? "{}" : text_);
      if (!args || !args->is_object()) throw CLI::ValidationError("ARGUMENTS", "expected a JSON object");
      bus_.function = id_;
      bus_.data = *args;
      json_ = true;
      out_.command = bus_;
    });
    CLI::App* inspect = command("inspect", "what the engine makes of what it is given");
    inspect->require_subcommand(1);
    command("tool-calls",
            "the tool calls in texts of models, from standard input: lines {\"text\", \"tools\": [{\"name\", "
            "\"parameters\"}]}",
            inspect)
        ->callback([this] { out_.command = InspectCommand{}; });
    CLI::App* routed = command("route",
                               "which model a message would be given to, and why; without TEXT for lines "
                               "{\"message\", \"toolCount\"?} from standard input",
                               inspect);
    routed->add_option("TEXT", route_words_, "the message, in one or more words")->type_name("");
    routed->add_flag("--json", json_, "the value as JSON");
    routed->callback(
        [this] { out_.command = RouteCommand{.text = strings::join(route_words_, " "), .json = json_}; });
    CLI::App* completion =
        command("completion", "a script that lets the shell complete: source <(chela completion bash)");
    completion->add_option("SHELL", id_, "the shell that is to complete")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    completion->callback([this] { out_.command = CompletionCommand{.shell = id_}; });
    app_.add_subcommand("help", "how a command is used: chela help memory read")
        ->add_option("COMMAND", help_words_, "the command, word by word; else all of them")
        ->type_name("");
    command("version", "print the version")->callback([this] { out_.command = VersionCommand{}; });
  }

  static constexpr const char* kThreadHelp = "its id (chela threads lists them)";
  int days_ = 30;
  std::string by_ = "day";
  static constexpr int kDefaultLimit = 50;

  CLI::App app_;
  CommandLine out_;
  RunCommand run_;
  EngineCommand engine_;
  BusCommand bus_;
  ReplayTraceCommand trace_;
  std::vector<std::string> route_words_;
  std::vector<std::string> settings_;
  std::vector<std::string> permissions_;
  std::vector<std::string> models_;
  std::int64_t day_cents_ = -1;  // not given
  std::int64_t month_cents_ = -1;
  std::vector<std::string> help_words_;
  std::string id_, text_, expires_;
  int limit_ = kDefaultLimit;
  std::int64_t seq_ = 0;
  bool json_ = false;
  bool system_ = false;
  bool all_ = false;
  bool skip_auth_ = false;
  ConfigFileCommand::Replace replace_ = ConfigFileCommand::Replace::kNo;
};

}  // namespace

CommandSpec command_tree() { return describe(Parser().app()); }

std::variant<CommandLine, ParseEnd> parse_command_line(int argc, const char* const* argv) {
  // The words of a line that is not finished are no arguments yet.
  if (argc > 1 && std::string_view(argv[1]) == "__complete")
    return CommandLine{.command = CompleteCommand{.words = {argv + 2, argv + argc}}};
  Parser parser(argc > 1 ? argv[1] : "");
  return parser.parse(argc, argv);
}

}  // namespace chela::cli
