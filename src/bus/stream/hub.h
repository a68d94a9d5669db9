#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bus/items/items.h"
#include "bus/stream/event.h"
#include "bus/stream/interest.h"

namespace chela::bus::stream {

// One wish of a socket to hear of a group, or of one of its items.
class Subscription {
 public:
  Subscription(std::string i, Place p, std::optional<std::string> t)
      : id(std::move(i)), place(std::move(p)), item(std::move(t)) {}
  virtual ~Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // Must not change the hub before it returns.
  virtual void hear(const items::Text& envelope) = 0;

  const std::string id;
  const Place place;
  const std::optional<std::string> item;  // nothing: all of the group
};

// Who hears of what. Loop thread only; subscriptions are their sockets'.
class Hub {
 public:
  // Null when nobody wants to know; must outlive the subscriptions.
  void tell_interest(Interest* interest) { interest_ = interest; }
  void add(Subscription& subscription);
  void remove(const Subscription& subscription);
  // Tells all who hear of the group, and of the item where there is one. Without anybody it costs a look-up.
  bool is_heard(const Place& place) const { return by_place_.contains(place); }
  void publish(const Place& place, const std::optional<std::string>& item, const items::Text& envelope) const;

  size_t size() const;

 private:
  Interest* interest_ = nullptr;
  std::map<Place, std::vector<Subscription*>> by_place_;
};

}  // namespace chela::bus::stream
