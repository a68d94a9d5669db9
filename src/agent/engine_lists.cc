#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/event_mapping.h"
#include "base/limits.h"
#include "base/strings.h"

// Threads and agents as lists, names of threads, and what models have used.
namespace chela::agent {
namespace {

constexpr UnixMs kDayMs = 86'400'000;

bool is_title(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTitleBytes && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace

std::vector<AgentInfo> EngineImpl::agents() const {
  std::map<std::string, AgentInfo> infos;
  const auto add = [&](const AgentSpec& spec) {
    const Result<ModelChoice> model = d_.choose_model(spec);
    infos[spec.name] = {spec.name, spec.description, model ? model->model : spec.model};
  };
  add(AgentSpec{.name = std::string(kDefaultAgent)});
  for (const AgentSpec& spec : d_.agents) add(spec);
  std::vector<AgentInfo> list;
  for (auto& [name, info] : infos) list.push_back(std::move(info));
  return list;
}

Task<Result<std::vector<ThreadInfo>>> EngineImpl::threads(Scope scope, ThreadQuery query) {
  const Result<std::vector<store::ThreadRow>> rows = co_await d_.log.threads(
      std::move(scope),
      {.limit = query.limit, .channel = std::move(query.channel), .text = std::move(query.text)});
  if (!rows) co_return fail(rows.error());
  std::vector<ThreadInfo> infos;
  for (const store::ThreadRow& row : *rows) {
    const ThreadPtr loaded = threads_.find(row.id);
    infos.push_back(info_of(row, loaded != nullptr && loaded->loaded ? &loaded->state : nullptr));
  }
  co_return infos;
}

Task<Result<ThreadInfo>> EngineImpl::assistant_thread(Scope scope, std::string channel) {
  scope = normalised(std::move(scope));
  const UnixMs now = d_.loop.clock().now();
  const Result<std::optional<store::ThreadRow>> there =
      co_await d_.log.thread_by_key(scope, channel, std::string(kAssistantThread));
  if (!there) co_return fail(there.error());
  std::optional<store::ThreadRow> row = *there;
  if (const ThreadPtr draft = threads_.find_named(scope, channel, std::string(kAssistantThread));
      !row && draft)
    row = draft->row;  // a message that is on its way begins it
  if (!row) {
    const Result<store::ThreadRow> made =
        co_await d_.log.ensure_thread({.id = d_.ids.next(),
                                       .scope = scope,
                                       .channel = std::move(channel),
                                       .external_thread = std::string(kAssistantThread),
                                       .title = {},
                                       .open_turn = {},
                                       .transcript_hash = {},
                                       .created_at = now,
                                       .updated_at = now});
    if (!made) co_return fail(made.error());
    row = *made;
  }
  const ThreadPtr loaded = threads_.find(row->id);
  co_return info_of(*row, loaded != nullptr && loaded->loaded ? &loaded->state : nullptr);
}

Task<Result<ThreadInfo>> EngineImpl::activate(Scope scope, std::string thread_id) {
  const Result<ThreadPtr> thread = co_await open_thread(std::move(scope), std::move(thread_id));
  if (!thread) co_return fail(thread.error());
  const store::ThreadRow& row = (*thread)->row;
  const Result<> active = co_await make_active(row.scope, row.channel, row.id);
  if (!active) co_return fail(active.error());
  co_return info_of((*thread)->row, &(*thread)->state);
}

Task<Result<ThreadInfo>> EngineImpl::rename(Scope scope, std::string thread_id, std::string title) {
  title = std::string(strings::trim(title));
  if (!is_title(title)) {
    co_return fail(Code::kInvalidArgument, "a title has 1 to {} bytes and no control characters",
                   kMaxTitleBytes);
  }
  const Result<ThreadPtr> opened = co_await open_thread(std::move(scope), std::move(thread_id));
  if (!opened) co_return fail(opened.error());
  const ThreadPtr thread = *opened;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  // Its place among the threads stays: nothing was said.
  const Result<store::Appended> written = co_await d_.log.append({.scope = thread->row.scope,
                                                                  .thread = thread->row.id,
                                                                  .records = {},
                                                                  .at = thread->row.updated_at,
                                                                  .title = title});
  if (!written) co_return fail(written.error());
  thread->row.title = title;
  json::Value data = event_data("thread_changed", thread->row.id, "");
  data.set("reason", "renamed");
  data.set("title", title);
  hub_.announce(thread->row.scope, thread->row.id, {"thread_changed", std::move(data)});
  co_return info_of(thread->row, &thread->state);
}

// What an input of a turn has used, noted for now and given for the store. The model is the one that was asked for.
std::optional<store::UsageAdd> EngineImpl::count(const turn::Input& input, const turn::State& state) {
  if (state.start.model.empty()) return std::nullopt;  // a turn that failed before it had a model
  store::UsageAdd add{.model = state.start.model};
  if (const auto* answered = std::get_if<turn::ModelAnswered>(&input)) {
    const llm::Usage& usage = answered->answer.usage;
    add.prompt_tokens = usage.input_tokens;
    add.completion_tokens = usage.output_tokens;
    add.cached_tokens = usage.cached_tokens;
  } else if (std::holds_alternative<turn::TurnFinished>(input) ||
             std::holds_alternative<turn::TurnFailed>(input) ||
             std::holds_alternative<turn::Interrupted>(input)) {
    add.turns = 1;
  } else {
    return std::nullopt;
  }
  auto sum = std::find_if(since_start_.begin(), since_start_.end(),
                          [&](const ModelUsage& each) { return each.model == add.model; });
  if (sum == since_start_.end()) {
    const bool room = since_start_.size() < kMaxUsageModels;
    if (room || since_start_.back().model != "other")
      since_start_.push_back({.model = room ? add.model : "other"});
    sum = since_start_.end() - 1;
  }
  sum->turns += add.turns;
  sum->tokens.input_tokens += add.prompt_tokens;
  sum->tokens.output_tokens += add.completion_tokens;
  sum->tokens.cached_tokens += add.cached_tokens;
  return add;
}

std::vector<ModelUsage> EngineImpl::usage_since_start() const { return since_start_; }

Task<Result<std::vector<DayUsage>>> EngineImpl::usage(Scope scope, int days) {
  const std::int64_t today = d_.loop.clock().now() / kDayMs;
  const Result<std::vector<store::UsageRow>> rows =
      co_await d_.log.usage(std::move(scope), today - std::clamp(days, 1, kMaxUsageDays) + 1);
  if (!rows) co_return fail(rows.error());
  std::vector<DayUsage> list;
  for (const store::UsageRow& row : *rows) {
    list.push_back({.day = row.day * kDayMs,
                    .sum = {.model = row.sum.model,
                            .turns = row.sum.turns,
                            .tokens = {.input_tokens = row.sum.prompt_tokens,
                                       .output_tokens = row.sum.completion_tokens,
                                       .cached_tokens = row.sum.cached_tokens}}});
  }
  co_return list;
}

}  // namespace chela::agent
