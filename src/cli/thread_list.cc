#include "cli/thread_list.h"

#include <algorithm>

namespace chela::cli {

std::vector<json::Value> threads_of(const json::Value& listed) {
  std::vector<json::Value> threads;
  if (const json::Value* items = listed.find("threads"); items && items->is_array())
    threads.assign(items->as_array()->begin(), items->as_array()->end());
  if (const json::Value* pinned = listed.find("assistant_thread"); pinned && pinned->is_object()) {
    // Times of one form compare as texts.
    const auto older = std::ranges::find_if(threads, [pinned](const json::Value& each) {
      return each.string_or("updated_at") < pinned->string_or("updated_at");
    });
    threads.insert(older, *pinned);
  }
  return threads;
}

}  // namespace chela::cli
