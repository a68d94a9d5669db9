#include "bus/stream/hub.h"

namespace chela::bus::stream {

void Hub::add(Subscription& subscription) {
  by_place_[subscription.place].push_back(&subscription);
  if (interest_ != nullptr) interest_->heard(subscription.place.stream);
}

void Hub::remove(const Subscription& subscription) {
  const auto found = by_place_.find(subscription.place);
  if (found == by_place_.end()) return;
  if (std::erase(found->second, &subscription) > 0 && interest_ != nullptr)
    interest_->unheard(subscription.place.stream);
  if (found->second.empty()) by_place_.erase(found);
}

void Hub::publish(const Place& place, const std::optional<std::string>& item,
                  const items::Text& envelope) const {
  const auto found = by_place_.find(place);
  if (found == by_place_.end()) return;
  for (Subscription* each : found->second) {
    if (!each->item || each->item == item) each->hear(envelope);
  }
}

size_t Hub::size() const {
  size_t count = 0;
  for (const auto& [place, all] : by_place_) count += all.size();
  return count;
}

}  // namespace chela::bus::stream
