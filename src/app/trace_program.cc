#include "app/trace_program.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "agent/traces/limits.h"
#include "agent/traces/scripted_http.h"
#include "app/assembly.h"
#include "cli/commands.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/signals.h"
#include "runtime/task_group.h"
#include "security/authenticator.h"

namespace chela::app {
namespace {

namespace fs = std::filesystem;
using namespace agent::traces;

constexpr int kSomethingFailed = 1;
constexpr int kNoTrace = 2;
constexpr mode_t kTraceMode = 0644;  // the person's own file, not a part of a home
constexpr std::string_view kUser = "default";
constexpr std::string_view kModel = "trace";  // of a trace that does not name its own

// A folder that goes with its owner.
class TemporaryHome {
 public:
  static Result<TemporaryHome> create() {
    std::error_code failed;
    std::string path = (fs::temp_directory_path(failed) / "chela-trace-XXXXXX").string();
    if (failed || ::mkdtemp(path.data()) == nullptr)
      return fail(os::system_error(errno, "make a folder for the replay like", path));
    return TemporaryHome(std::move(path));
  }
  TemporaryHome(TemporaryHome&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryHome& operator=(TemporaryHome&&) = delete;
  ~TemporaryHome() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryHome(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

config::Sources sources_of(const Trace& trace) {
  config::Sources sources;
  sources.flags = {{"llm.backend", "local"},
                   {"llm.model", trace.model_name.empty() ? std::string(kModel) : trace.model_name},
                   {"log.file", "off"}};
  for (const auto& each : trace.settings) sources.flags.push_back(each);
  return sources;
}

// What is there before the first turn.
Task<Result<>> furnish(Assembly& engine, const Trace& trace, Scope scope) {
  for (const TraceDocument& each : trace.memory) {
    const Result<store::DocumentRow> written = co_await engine.memory().write(scope, each.path, each.content);
    if (!written)
      co_return fail(written.error().code, "memory_snapshot {}: {}", each.path, written.error().message);
  }
  for (const TraceDocument& each : trace.files) {
    const Result<> written = co_await engine.files().save(scope, each.path, each.content);
    if (!written) co_return fail(written.error().code, "files {}: {}", each.path, written.error().message);
  }
  co_return Result<>{};
}

json::Value texts(const std::vector<std::string>& list) {
  json::Value out = json::Value::array();
  for (const std::string& each : list) out.push_back(each);
  return out;
}

json::Value failures_json(const Report& report) {
  json::Value out = json::Value::array();
  for (const Failed& each : report.failures)
    out.push_back(json::Value::object(
        {{"where", each.where}, {"expectation", each.what.expectation}, {"message", each.what.message}}));
  return out;
}

void set_expects(json::Value& place, const Expects& expects) {
  if (!expects.empty())
    place.set("expects", to_json(expects));
  else if (json::Object* object = place.as_object())
    object->erase("expects");
}

}  // namespace

int TraceProgram::run() {
  const std::map<std::string, std::string> environment = os::environment();
  Result<std::string> share = share_folder(environment);
  if (!share) return cli::report_error(share.error(), output_);
  share_ = std::move(*share);
  const std::vector<int> signals{SIGINT, SIGTERM};
  os::block_signals(signals);
  std::signal(SIGPIPE, SIG_IGN);
  Result<std::unique_ptr<os::Poller>> poller = os::Poller::create(loop_);
  if (!poller) return cli::report_error(poller.error(), output_);
  poller_ = std::move(*poller);
  Result<std::unique_ptr<os::SignalWatch>> watch = os::SignalWatch::create(*poller_, signals, [this](int) {
    if (leaving_.stop_requested()) ::_exit(exit_code(Code::kCancelled));  // asked twice: now
    leaving_.request_stop();
  });
  if (!watch) return cli::report_error(watch.error(), output_);
  const int code = runtime::block_on(loop_, replay_all());
  runtime::block_on(loop_, (*watch)->close());
  return code;
}

// Those that were named, and all below folders that were.
Result<std::vector<std::string>> TraceProgram::files() const {
  std::vector<std::string> all;
  for (const std::string& each : command_.files) {
    std::error_code failed;
    if (!fs::is_directory(each, failed)) {
      all.push_back(each);
      continue;
    }
    std::vector<std::string> below;
    for (fs::recursive_directory_iterator at(each, failed), end; !failed && at != end; at.increment(failed)) {
      if (at->path().extension() == ".json") below.push_back(at->path().string());
    }
    if (failed) return fail(Code::kInvalidArgument, "{}: {}", each, failed.message());
    if (below.empty()) return fail(Code::kInvalidArgument, "there is no trace (*.json) in {}", each);
    std::sort(below.begin(), below.end());
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

Task<int> TraceProgram::replay_all() {
  int code = 0;
  const Result<std::vector<std::string>> found = files();
  if (!found) co_return cli::report_error(found.error(), output_);
  for (const std::string& file : *found) {
    const Verdict verdict = co_await replay(file);
    if (leaving_.stop_requested()) co_return exit_code(Code::kCancelled);
    if (verdict == Verdict::kBroken) code = kNoTrace;
    if (verdict == Verdict::kFailed && code == 0) code = kSomethingFailed;
  }
  if (command_.json) {
    output_.line(
        json::write(json::Value::object({{"traces", reports_}, {"passed", held_}, {"failed", failed_}})));
  } else {
    output_.line(fmt::format("{} passed, {} failed", held_, failed_));
  }
  co_return code;
}

TraceProgram::Verdict TraceProgram::broken(const std::string& file, const Error& error) {
  ++failed_;
  output_.note(fmt::format("chela: {}: {}", file, error.message));
  reports_.push_back(json::Value::object({{"file", file}, {"error", json::from_error(error)}}));
  return Verdict::kBroken;
}

Task<TraceProgram::Verdict> TraceProgram::replay(std::string file) {
  const Result<std::string> text = os::read_file(file, kMaxTraceBytes);
  if (!text) co_return broken(file, text.error());
  const Result<Trace> trace = read_trace(*text);
  if (!trace) co_return broken(file, trace.error());
  Result<TemporaryHome> home = TemporaryHome::create();
  if (!home) co_return broken(file, home.error());
  Result<Report> report = co_await play(*trace, home->path());
  if (!report) co_return broken(file, report.error());
  if (command_.rewrite) {
    if (const Result<> written = rewrite(file, *text, *trace, *report); !written)
      co_return broken(file, written.error());
    std::erase_if(report->failures, [](const Failed& each) { return !each.what.beyond_expects(); });
  }
  show(file, *trace, *report);
  ++(report->failures.empty() ? held_ : failed_);
  co_return report->failures.empty() ? Verdict::kHeld : Verdict::kFailed;
}

Task<Result<Report>> TraceProgram::play(const Trace& trace, const std::string& home) {
  Result<Paths> paths = paths_for(home, {});
  if (!paths) co_return fail(paths.error());
  if (Result<> made = make_folders(*paths); !made) co_return fail(made.error());
  Result<os::FileLock> lock = os::FileLock::acquire(paths->lock);
  if (!lock) co_return fail(lock.error());
  Result<std::unique_ptr<Foundation>> foundation =
      co_await Foundation::open(loop_, {.paths = *paths,
                                        .sources = sources_of(trace),
                                        .user = std::string(kUser),
                                        .storage = Foundation::Storage::kMemory});
  if (!foundation) co_return fail(foundation.error());
  ScriptedModel model(loop_);
  ScriptedHttp http(trace.exchanges);
  Result<std::unique_ptr<Assembly>> engine =
      Assembly::create(loop_, *poller_, std::move(*lock), std::move(*foundation),
                       {.paths = *paths, .share = share_, .model = &model, .http = &http});
  if (!engine) co_return fail(engine.error());
  const Scope scope = security::owner_principal(std::string(kUser)).scope();
  Result<> ready = co_await furnish(**engine, trace, scope);
  if (ready) ready = co_await (*engine)->start();
  Result<Report> report = ready ? Result<Report>() : Result<Report>(fail(ready.error()));
  if (ready) {
    Player player({.engine = (*engine)->engine(), .model = model, .scope = scope}, trace,
                  command_.strict ? Strictness::kStrict : Strictness::kExpectations);
    report = co_await player.play(leaving_.get_token());
  }
  co_await (*engine)->stop();
  if (report) {
    for (const std::string& each : http.notes()) {
      report->notes.push_back(each);
      if (command_.strict) report->failures.push_back({"", {std::string(kStrict), each}});
    }
  }
  co_return report;
}

// The file's own value with other expectations: what this program does not know in it stays.
Result<> TraceProgram::rewrite(const std::string& file, const std::string& text, const Trace& trace,
                               const Report& report) {
  Result<json::Value> value = json::parse(text);
  if (!value) return fail(value.error());
  json::Value* turns = value->find("turns");
  if (turns == nullptr || !turns->is_array())
    return fail(Code::kUnsupported, "only a trace with turns can be rewritten; this one is flat");
  bool expected = !trace.expects.empty();
  for (const TraceTurn& each : trace.turns) expected |= !each.expects.empty();
  for (size_t i = 0; i < report.turns.size() && i < turns->as_array()->size(); ++i) {
    const Expects& before = trace.turns[i].expects;
    // One in which nothing is expected at all gets what can be.
    const Expects after = expected ? rewritten(before, report.turns[i]) : described(report.turns[i]);
    if (after != before) set_expects((*turns->as_array())[i], after);
  }
  const Expects whole = rewritten(trace.expects, report.whole);
  if (whole != trace.expects) set_expects(*value, whole);
  const std::string now = layout(*value);
  return now == text ? Result<>{} : os::write_file_atomic(file, now, kTraceMode);
}

void TraceProgram::show(const std::string& file, const Trace& trace, const Report& report) {
  const std::string name = trace.model_name;
  const auto turns = static_cast<std::int64_t>(report.turns.size());
  const auto calls = static_cast<std::int64_t>(report.whole.calls.size());
  reports_.push_back(json::Value::object({{"file", file},
                                          {"model_name", name},
                                          {"turns", turns},
                                          {"model_calls", report.whole.model_calls},
                                          {"tool_calls", calls},
                                          {"failures", failures_json(report)},
                                          {"notes", texts(report.notes)}}));
  if (command_.json) return;
  output_.text(fmt::format("{} {}: {} turns, {} model calls, {} tool calls\n",
                           report.failures.empty() ? "ok  " : "FAIL", file, turns, report.whole.model_calls,
                           calls));
  for (const Failed& each : report.failures)
    output_.text(fmt::format("  {}{}{}: {}\n", each.where, each.where.empty() ? "" : " ",
                             each.what.expectation, each.what.message));
  for (const std::string& each : report.notes) output_.text(fmt::format("  note: {}\n", each));
}

}  // namespace chela::app
