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
  // A channel of the engine, which holds one end; `remote` is the one that somebody else may take.
  ChannelPtr open(End remote);
  // Nothing when there is no such channel or the key is another.
  ChannelPtr find(std::string_view id, std::string_view key, End end) const;

  size_t size() const { return channels_.size(); }

 private:
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
  std::unordered_map<const Worker*, size_t> of_worker_;
  std::optional<runtime::TimerId> timer_;
};

}  // namespace chela::bus::channels
