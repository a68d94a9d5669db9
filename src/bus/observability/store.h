#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "bus/worker.h"

namespace chela::bus::observability {

// The newest spans, logs or points of all tenants, bounded in number, bytes and age. When it is full the oldest of the tenant with the
// most goes, so that nobody's flood costs others what is theirs. Loop thread only.
class Store {
 public:
  Store(size_t max_items, size_t max_bytes, std::chrono::milliseconds retention)
      : max_items_(max_items), max_bytes_(max_bytes), retention_(retention) {}

  struct Item {
    UnixMs at = 0;  // when it came
    size_t bytes = 0;
    json::Value value;
  };
  // False when it is larger than one may be.
  bool add(std::string_view tenant, json::Value value, UnixMs now);
  // All that the viewer may see, each tenant's in the order they came.
  void each(const Viewer& viewer, UnixMs now, const std::function<void(const json::Value&)>& visit);
  void clear(const Viewer& viewer);

  size_t size() const { return items_; }
  size_t bytes() const { return bytes_; }

 private:
  void drop_oldest(std::deque<Item>& of);
  void forget_old(UnixMs now);

  const size_t max_items_;
  const size_t max_bytes_;
  const std::chrono::milliseconds retention_;
  std::map<std::string, std::deque<Item>, std::less<>> tenants_;
  size_t items_ = 0;
  size_t bytes_ = 0;
};

}  // namespace chela::bus::observability
