#include "bus/stream/session.h"

#include "bus/stream/limits.h"

namespace chela::bus::stream {
namespace {

constexpr std::uint16_t kPolicyViolation = 1008;

// A name in a message; nothing when it is no text or too long.
std::optional<std::string> name_in(const json::Value& data, std::string_view key, size_t most) {
  const json::Value* value = data.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  if (text == nullptr || text->size() > most) return std::nullopt;
  return *text;
}

}  // namespace

// Until the first values are shown, what it hears waits.
class Session::Heard final : public Subscription {
 public:
  Heard(Session& session, Wish w)
      : Subscription(w.subscription, session.place_of(w), w.item), wish(std::move(w)), session_(session) {
    session_.parts_.hub.add(*this);
  }
  ~Heard() override { session_.parts_.hub.remove(*this); }

  void hear(const items::Text& envelope) override {
    if (shown_) {
      session_.send(*envelope);
    } else if (held_.size() < session_.held_events_) {
      held_.push_back(envelope);
    } else {
      session_.link_.close(kPolicyViolation, "too many events before the first values could be read");
    }
  }
  void show(std::string_view value) {
    session_.tell(place, item, event_body("sync", value));
    shown_ = true;
    for (const items::Text& each : std::exchange(held_, {})) session_.send(*each);
  }

  const Wish wish;

 private:
  Session& session_;
  bool shown_ = false;
  std::vector<items::Text> held_;
};

Session::Session(Parts parts, Link& link, Guest guest, size_t held_events, std::stop_token stop)
    : parts_(parts),
      link_(link),
      guest_(std::move(guest)),
      tenant_(viewer_of(guest_.rights.principal).tenant),
      held_events_(held_events),
      stop_(std::move(stop)) {}

Session::~Session() = default;

// Who does not take what it is sent is cut off; others are not held up.
void Session::send(const std::string& text) {
  if (link_.unsent() > kMaxUntakenBytes || !link_.send(text))
    link_.close(kPolicyViolation, "events were not taken in time");
}

void Session::tell(const Place& place, const std::optional<std::string>& item, const std::string& event) {
  send(envelope(parts_.bus.clock().now(), place, item, event));
}

op::CallContext Session::context() const {
  const op::Principal& principal = guest_.rights.principal;
  return {.principal = principal, .scope = principal.scope(), .stop = stop_};
}

Payload Session::payload_of(const Wish& wish) const {
  json::Value payload = json::Value::object({{"subscription_id", wish.subscription},
                                             {"stream_name", wish.stream},
                                             {"group_id", wish.group},
                                             {"id", wish.item ? json::Value(*wish.item) : json::Value()}});
  if (!guest_.context.is_null()) payload.set("context", guest_.context);
  return payload;
}

Task<> Session::handle(std::string message) {
  const Result<json::Value> parsed = json::parse(message);
  const std::string type = parsed ? parsed->string_or("type") : "";
  const json::Value* data = parsed ? parsed->find("data") : nullptr;
  std::optional<std::string> id =
      data == nullptr ? std::nullopt : name_in(*data, "subscriptionId", kMaxSubscriptionIdBytes);
  if (type == "leave" && id) {
    leave(*id);
    co_return;
  }
  std::optional<std::string> stream =
      data == nullptr ? std::nullopt : name_in(*data, "streamName", items::kMaxItemKeyBytes);
  std::optional<std::string> group =
      data == nullptr ? std::nullopt : name_in(*data, "groupId", items::kMaxItemKeyBytes);
  const json::Value* item = data == nullptr ? nullptr : data->find("id");
  Wish wish;
  if (item != nullptr && !item->is_null()) wish.item = name_in(*data, "id", items::kMaxItemKeyBytes);
  const bool good_item = item == nullptr || item->is_null() || wish.item;
  if (type != "join" || !id || !stream || !group || !good_item) {
    tell(
        {.tenant = tenant_, .stream = stream.value_or(""), .group = group.value_or("")}, std::nullopt,
        error_body(
            {.code = Code::kInvalidArgument,
             .message =
                 R"(send {"type": "join" or "leave", "data": {"subscriptionId", "streamName", "groupId", "id"?}})"}));
    co_return;
  }
  wish.subscription = std::move(*id);
  wish.stream = std::move(*stream);
  wish.group = std::move(*group);
  co_await join(std::move(wish));
}

Task<> Session::join(Wish wish) {
  leave(wish.subscription);
  const Place place = place_of(wish);
  if (subscriptions_.size() >= kMaxSubscriptions) {
    tell(place, wish.item,
         error_body({.code = Code::kTooLarge,
                     .message = fmt::format("a socket has {} subscriptions at most", kMaxSubscriptions)}));
    co_return;
  }
  if (!co_await parts_.triggers.may_join(place, payload_of(wish), stop_)) {
    tell(place, wish.item, unauthorized_body());
    co_return;
  }
  const std::string id = wish.subscription;
  Heard& heard = *subscriptions_.emplace(id, std::make_unique<Heard>(*this, std::move(wish))).first->second;
  const Result<std::string> value = co_await parts_.values.show(context(), heard.place, heard.item);
  if (value) {
    heard.show(*value);
  } else {
    tell(heard.place, heard.item, error_body(value.error()));
    leave(id);
  }
}

void Session::leave(const std::string& subscription) {
  const auto found = subscriptions_.find(subscription);
  if (found == subscriptions_.end()) return;
  const std::unique_ptr<Heard> heard = std::move(found->second);
  subscriptions_.erase(found);
  parts_.triggers.left(heard->place, payload_of(heard->wish));
}

void Session::end() {
  while (!subscriptions_.empty()) leave(std::string(subscriptions_.begin()->first));
}

}  // namespace chela::bus::stream
