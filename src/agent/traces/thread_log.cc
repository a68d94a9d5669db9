#include "agent/traces/thread_log.h"

#include "base/limits.h"

namespace chela::agent::traces {
namespace {

constexpr size_t kPage = 1000;

}  // namespace

Task<Result<json::Array>> records_after(Engine& engine, Scope scope, std::string thread, std::int64_t after) {
  json::Array all;
  while (true) {
    Result<json::Value> page = co_await engine.log(scope, thread, after, kPage);
    if (!page) co_return fail(page.error());
    json::Value* records = page->find("records");
    json::Array* list = records != nullptr ? records->as_array() : nullptr;
    if (list == nullptr || list->empty()) co_return all;
    after = list->back().int_or("seq", after);
    all.insert(all.end(), std::make_move_iterator(list->begin()), std::make_move_iterator(list->end()));
    if (!page->bool_or("has_more", false)) co_return all;
  }
}

Task<Result<json::Array>> whole_log(Engine& engine, Scope scope, std::string thread) {
  json::Array whole;
  std::int64_t until = 0;  // 0 = all
  for (int depth = 0; depth <= kMaxForkDepth; ++depth) {
    Result<json::Array> records = co_await records_after(engine, scope, thread, 0);
    if (!records) co_return fail(records.error());
    if (until > 0)
      std::erase_if(*records, [until](const json::Value& each) { return each.int_or("seq", 0) > until; });
    const json::Value* fork = nullptr;
    if (!records->empty() && records->front().string_or("kind") == "Forked")
      fork = records->front().find("body");
    const std::string source = fork != nullptr ? fork->string_or("from") : "";
    until = fork != nullptr ? fork->int_or("at", 0) : 0;
    whole.insert(whole.begin(), std::make_move_iterator(records->begin()),
                 std::make_move_iterator(records->end()));
    if (source.empty()) co_return whole;
    thread = source;
  }
  co_return fail(Code::kUnprocessable, "the thread was forked more than {} times", kMaxForkDepth);
}

}  // namespace chela::agent::traces
