#include "bus/channels/channels.h"

#include "base/strings.h"
#include "bus/channels/limits.h"
#include "crypto/random.h"

namespace chela::bus::channels {
namespace {

constexpr std::string_view kCreate = "engine::channels::create";
constexpr std::string_view kCreateIn =
    R"({"type":"object","properties":{"buffer_size":{"type":"integer","minimum":1,"maximum":1024,)"
    R"("description":"messages that wait for the reader; then the writer is held back"}}})";

std::string_view name(End end) { return end == End::kRead ? "read" : "write"; }

}  // namespace

json::Value reference(const Channel& channel, End end) {
  return json::Value::object(
      {{"channel_id", channel.id()}, {"access_key", channel.key(end)}, {"direction", name(end)}});
}

Channels::Channels(runtime::EventLoop& loop, runtime::IdSource& ids, obs::Metrics& metrics)
    : loop_(loop),
      ids_(ids),
      open_gauge_(metrics.gauge("chela_bus_channels", "Data channels that are open")) {}

Channels::~Channels() {
  if (timer_) loop_.cancel(*timer_);
}

Result<> Channels::add_to(Bus& bus) {
  return bus.add({.spec = {.id = std::string(kCreate),
                           .description = "Makes a stream of bytes and messages from one worker to another.",
                           .request_format = std::string(kCreateIn)},
                  .handler = [this](LocalCall call) { return serve_create(std::move(call)); }});
}

Task<Result<json::Value>> Channels::serve_create(LocalCall call) {
  // A channel goes with the connection that asked for it.
  if (!call.caller)
    co_return fail(Code::kUnsupported,
                   "only a connected worker can have a channel made, not a trigger or a queue");
  const std::int64_t wanted = call.data.int_or("buffer_size", static_cast<std::int64_t>(kDefaultBuffer));
  const auto capacity =
      static_cast<size_t>(std::clamp<std::int64_t>(wanted, 1, static_cast<std::int64_t>(kMaxBuffer)));
  const Result<ChannelPtr> made = create(std::move(call.caller), capacity);
  if (!made) co_return fail(made.error());
  co_return json::Value::object(
      {{"writer", reference(**made, End::kWrite)}, {"reader", reference(**made, End::kRead)}});
}

Result<ChannelPtr> Channels::create(WorkerPtr owner, size_t capacity) {
  if (owner && owner->link == nullptr) return fail(Code::kUnavailable, "the worker has gone");
  if (owner) {
    size_t& count = of_worker_[owner.get()];
    if (count >= kMaxChannelsPerWorker)
      return fail(Code::kRateLimited, "{} channels of this connection are open, which is the limit", count);
    ++count;
  }
  return make(std::move(owner), {crypto::random_token(), crypto::random_token()}, capacity);
}

ChannelPtr Channels::make(WorkerPtr owner, std::pair<std::string, std::string> keys, size_t capacity) {
  auto channel = std::make_shared<Channel>(loop_, ids_.next(), std::move(keys), capacity);
  Entry& entry = channels_[channel->id()];
  entry.channel = channel;
  entry.on_over = std::make_unique<std::stop_callback<OnOver>>(channel->over(), OnOver{*this, channel->id()});
  if (owner)
    entry.on_gone = std::make_unique<std::stop_callback<OnGone>>(owner->gone.get_token(), OnGone{channel});
  entry.owner = std::move(owner);
  open_gauge_.set(static_cast<double>(channels_.size()));
  watch();
  return channel;
}

// Runs inside the callbacks it would destroy, so that it leaves them to the loop.
void Channels::remove(const std::string& id) {
  const auto found = channels_.find(id);
  if (found == channels_.end()) return;
  if (const Worker* owner = found->second.owner.get()) {
    const auto count = of_worker_.find(owner);
    if (--count->second == 0) of_worker_.erase(count);
  }
  loop_.post([entry = std::make_unique<Entry>(std::move(found->second))] {});
  channels_.erase(found);
  open_gauge_.set(static_cast<double>(channels_.size()));
}

ChannelPtr Channels::find(std::string_view id, std::string_view key, End end) {
  if (const auto offer = offers_.find(id); offer != offers_.end()) {
    return strings::constant_time_equals(key, offer->second->key(end)) ? offer->second->taken_up(end)
                                                                       : nullptr;
  }
  const auto found = channels_.find(std::string(id));
  if (found == channels_.end()) return nullptr;
  const ChannelPtr& channel = found->second.channel;
  const std::string& right = channel->key(end);  // "" for one that only its offer gives
  return !right.empty() && strings::constant_time_equals(key, right) ? channel : nullptr;
}

Offer::Offer(Channels& channels, size_t capacity, Made made)
    : channels_(channels),
      capacity_(capacity),
      made_(std::move(made)),
      id_(channels.ids_.next()),
      keys_(crypto::random_token()) {
  channels_.offers_.emplace(id_, this);
}

Offer::~Offer() { channels_.offers_.erase(id_); }

// Half of a token is 126 bits and more.
std::string_view Offer::key(End remote) const {
  const size_t half = keys_.size() / 2;
  const std::string_view keys = keys_;
  return remote == End::kRead ? keys.substr(0, half) : keys.substr(half);
}

ChannelPtr Offer::taken_up(End remote) {
  ChannelPtr& channel = remote == End::kRead ? read_ : written_;
  if (channel) return channel;
  const bool reads = remote == End::kRead;
  channel = channels_.make(nullptr, {}, reads ? capacity_ : kDefaultBuffer);
  channel->take(reads ? End::kWrite : End::kRead);
  made_(remote, channel);
  return channel;
}

void Channels::watch() {
  if (timer_ || channels_.empty()) return;
  timer_ = loop_.call_at(loop_.clock().steady() + kSweepInterval, [this] {
    timer_.reset();
    sweep();
    watch();
  });
}

void Channels::sweep() {
  const SteadyTime latest = loop_.clock().steady() - kUntakenTime;
  std::vector<ChannelPtr> stale;
  for (const auto& [id, entry] : channels_) {
    const Channel& channel = *entry.channel;
    if (channel.created() <= latest && !(channel.taken(End::kRead) && channel.taken(End::kWrite)))
      stale.push_back(entry.channel);
  }
  for (const ChannelPtr& channel : stale)
    channel->close({.code = Code::kTimeout, .message = "an end of the channel was not taken in time"});
}

}  // namespace chela::bus::channels
