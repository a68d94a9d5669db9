#include "app/trace_recorder.h"

#include <algorithm>
#include <filesystem>

#include "agent/traces/export.h"
#include "app/limits.h"
#include "obs/log.h"
#include "os/file.h"
#include "security/known_secrets.h"

namespace chela::app {
namespace {

constexpr mode_t kTraceMode = 0600;

std::string without_secrets(std::string_view text) { return log::redact(text); }

// Blocks.
Result<> save(const std::string& folder, const std::string& file, const std::string& text) {
  namespace fs = std::filesystem;
  const std::string path = folder.empty() ? file : (fs::path(folder) / file).string();
  if (!folder.empty()) {
    if (Result<> made = os::make_private_dir(folder); !made) return made;
    std::error_code failed;
    size_t there = 0;
    if (!fs::exists(path, failed)) {
      for (fs::directory_iterator each(folder, failed), end; !failed && each != end; each.increment(failed))
        ++there;
    }
    if (there >= kMaxRecordedTraces)
      return fail(Code::kTooLarge, "{} holds {} files; move some away to have more threads recorded", folder,
                  there);
  }
  return os::write_file_atomic(path, text, kTraceMode);
}

}  // namespace

void TraceRecorder::turn_ended(const Scope& scope, const std::string& thread) {
  if (!settings_.record || engine_ == nullptr) return;
  Place place{scope, thread};
  if (std::find(waiting_.begin(), waiting_.end(), place) == waiting_.end())
    waiting_.push_back(std::move(place));
  if (std::exchange(working_, true)) return;
  tasks_.spawn(work());
}

Task<> TraceRecorder::work() {
  while (!waiting_.empty()) {
    Place place = std::move(waiting_.front());
    waiting_.pop_front();
    const std::string thread = place.thread;
    if (const Result<> written = co_await write(std::move(place)); !written)
      log::warn("traces", "a conversation is not recorded",
                {{"thread", thread}, {"error", written.error().message}});
  }
  working_ = false;
}

Task<Result<>> TraceRecorder::write(Place place) {
  const bool one_file = !settings_.output.empty();
  std::string folder = one_file ? "" : parts_.folder;
  std::string file = one_file ? settings_.output : place.thread + ".json";
  if (const Result<> known = co_await security::know_secrets(parts_.vault, place.scope); !known)
    co_return fail(known.error());
  const Result<json::Value> value = co_await agent::traces::export_thread(
      *engine_, place.scope, place.thread, settings_.model_name, without_secrets);
  if (!value) co_return fail(value.error());
  Result<std::string> text = agent::traces::layout(*value);
  if (one_file) {
    Result<agent::traces::Trace> trace = agent::traces::read_trace(*text);
    if (!trace) co_return fail(trace.error());
    text = text_of_all(std::move(place), std::move(*trace));
    if (!text) co_return fail(text.error());
  }
  co_return co_await parts_.pool.run([folder = std::move(folder), file = std::move(file),
                                      text = std::move(*text)] { return save(folder, file, text); });
}

// All threads that have had a turn since the start, as one conversation: each after the first begins with /new.
Result<std::string> TraceRecorder::text_of_all(Place place, agent::traces::Trace trace) {
  const auto known = std::find_if(together_.begin(), together_.end(),
                                  [&place](const auto& each) { return each.first == place; });
  if (known != together_.end()) {
    known->second = std::move(trace);
  } else if (together_.size() < kMaxThreadsOfOneTrace) {
    together_.emplace_back(std::move(place), std::move(trace));
  } else {
    return fail(Code::kTooLarge, "one trace holds {} threads at most; without traces.output each has its own",
                kMaxThreadsOfOneTrace);
  }
  agent::traces::Trace whole;
  for (const auto& each : together_) agent::traces::append(whole, each.second);
  std::string text = agent::traces::write_trace(whole);
  if (const auto readable = agent::traces::read_trace(text); !readable) return fail(readable.error());
  return text;
}

}  // namespace chela::app
