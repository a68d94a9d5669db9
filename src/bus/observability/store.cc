#include "bus/observability/store.h"

#include <algorithm>
#include <iterator>

#include "bus/observability/limits.h"

namespace chela::bus::observability {

bool Store::add(std::string_view tenant, json::Value value, UnixMs now) {
  const size_t size = json::write(value).size();
  if (size > kMaxItemBytes) return false;
  forget_old(now);
  auto found = tenants_.find(tenant);
  if (found == tenants_.end()) found = tenants_.emplace(tenant, std::deque<Item>()).first;
  found->second.push_back({.at = now, .bytes = size, .value = std::move(value)});
  ++items_;
  bytes_ += size;
  while (items_ > max_items_ || bytes_ > max_bytes_) {
    const auto most =
        std::ranges::max_element(tenants_, {}, [](const auto& each) { return each.second.size(); });
    drop_oldest(most->second);
    if (most->second.empty()) tenants_.erase(most);
  }
  return true;
}

void Store::drop_oldest(std::deque<Item>& of) {
  bytes_ -= of.front().bytes;
  --items_;
  of.pop_front();
}

void Store::forget_old(UnixMs now) {
  for (auto at = tenants_.begin(); at != tenants_.end();) {
    std::deque<Item>& items = at->second;
    while (!items.empty() && items.front().at + retention_.count() < now) drop_oldest(items);
    at = items.empty() ? tenants_.erase(at) : std::next(at);
  }
}

void Store::each(const Viewer& viewer, UnixMs now, const std::function<void(const json::Value&)>& visit) {
  forget_old(now);
  for (const auto& [tenant, items] : tenants_) {
    if (!viewer.sees_all && tenant != viewer.tenant) continue;
    for (const Item& item : items) visit(item.value);
  }
}

void Store::clear(const Viewer& viewer) {
  for (auto at = tenants_.begin(); at != tenants_.end();) {
    const bool theirs = viewer.sees_all || at->first == viewer.tenant;
    while (theirs && !at->second.empty()) drop_oldest(at->second);
    at = theirs ? tenants_.erase(at) : std::next(at);
  }
}

}  // namespace chela::bus::observability
