#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bus/bus.h"
#include "bus/channels/channel.h"
#include "obs/metrics.h"

namespace chela::bus::channels {

// What an SDK turns into a reader or writer: {"channel_id","access_key","direction"}.
json::Value reference(const Channel& channel, End end);

class Channels;

// Two channels of the engine's under one id: one that a remote may read, one that it may write. Either is made when the remote asks for
// its end, so that an offer that nobody takes up costs little. A channel that was made goes on without its offer. Loop thread only;
// `made` is called for each with its remote end, which is not taken yet; the engine's is.
class Offer {
 public:
  using Made = std::function<void(End remote, const ChannelPtr& channel)>;

  // Of what the remote reads `capacity` messages wait for it.
  Offer(Channels& channels, size_t capacity, Made made);
  ~Offer();
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

  const std::string& id() const { return id_; }
  std::string_view key(End remote) const;
  // Null until its end was asked for.
  const ChannelPtr& channel(End remote) const { return remote == End::kRead ? read_ : written_; }

 private:
  friend class Channels;
  ChannelPtr taken_up(End remote);

  Channels& channels_;
  const size_t capacity_;
  const Made made_;
  const std::string id_;
  const std::string keys_;  // the reader's, then the writer's
  ChannelPtr read_;
  ChannelPtr written_;
};

// The channels that are not over. Gives the bus `engine::channels::create`. Loop thread only; outlives who holds its channels.
class Channels {
 public:
  Channels(runtime::EventLoop& loop, runtime::IdSource& ids, obs::Metrics& metrics);
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  // kConflict when the bus has the function.
  Result<> add_to(Bus& bus);

  // A channel that goes when its worker does; the engine's own without one. kRateLimited when the worker has too many.
  Result<ChannelPtr> create(WorkerPtr owner, size_t capacity);
  // Nothing when there is no such channel or the key is another.
  ChannelPtr find(std::string_view id, std::string_view key, End end);

  size_t size() const { return channels_.size(); }
  size_t offers() const { return offers_.size(); }

 private:
  friend class Offer;
  struct OnOver {
    Channels& channels;
    std::string id;
    void operator()() const { channels.remove(id); }
  };
  struct OnGone {
    ChannelPtr channel;
    void operator()() const {
      channel->close({.code = Code::kUnavailable, .message = "the worker that made the channel has gone"});
    }
  };
  struct Entry {
    ChannelPtr channel;
    WorkerPtr owner;
    std::unique_ptr<std::stop_callback<OnOver>> on_over;
    std::unique_ptr<std::stop_callback<OnGone>> on_gone;  // null without an owner
  };

  Task<Result<json::Value>> serve_create(LocalCall call);
  ChannelPtr make(WorkerPtr owner, std::pair<std::string, std::string> keys, size_t capacity);
  void remove(const std::string& id);
  void watch();
  void sweep();

  runtime::EventLoop& loop_;
  runtime::IdSource& ids_;
  obs::Gauge& open_gauge_;
  std::unordered_map<std::string, Entry> channels_;
  std::unordered_map<std::string_view, Offer*> offers_;  // by their ids
  std::unordered_map<const Worker*, size_t> of_worker_;
  std::optional<runtime::TimerId> timer_;
};

}  // namespace chela::bus::channels
