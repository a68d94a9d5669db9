#include "config/live.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace chela::config {

void Live::subscribe(std::vector<std::string_view> keys, Subscriber subscriber) {
  for (const std::string_view name : keys) {
    const Key* key = find_key(name);
    CHELA_CHECK(key != nullptr && key->reload == Reload::kAtOnce, "only keys that count at once change");
  }
  subscribers_.push_back({std::move(keys), std::move(subscriber)});
}

void Live::replace(Config next) {
  Result<Config> blend = running_.with_reloadable(next);
  wanted_ = std::move(next);
  if (!blend) return;  // the new values fit only those that count after a restart: all of them wait for it
  std::set<std::string_view> changed;
  for (const Key& key : keys()) {
    if (!(blend->value(key.name) == running_.value(key.name))) changed.insert(key.name);
  }
  running_ = std::move(*blend);
  for (const Entry& each : subscribers_) {
    const bool concerned = std::any_of(each.keys.begin(), each.keys.end(),
                                       [&](std::string_view key) { return changed.contains(key); });
    if (concerned) each.call(running_.settings());
  }
}

bool Live::waits_for_restart(std::string_view key) const {
  return !(running_.value(key) == wanted_.value(key));
}

std::vector<std::string_view> Live::unheard() const {
  std::vector<std::string_view> out;
  for (const Key& key : keys()) {
    if (key.reload != Reload::kAtOnce) continue;
    const bool heard = std::any_of(subscribers_.begin(), subscribers_.end(), [&](const Entry& each) {
      return std::find(each.keys.begin(), each.keys.end(), key.name) != each.keys.end();
    });
    if (!heard) out.push_back(key.name);
  }
  return out;
}

}  // namespace chela::config
