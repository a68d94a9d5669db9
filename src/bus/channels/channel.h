#pragma once

#include <deque>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/websocket.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::bus::channels {

enum class End { kRead, kWrite };

// A stream of messages from one writer to one reader: binary ones are the payload, text ones go beside it, in order with it. What was
// written waits for a reader that is late; a full channel holds its writer back. Each end is taken once, by whoever shows its key or by
// the engine itself. Loop thread only; shared by the table of channels and those who hold its ends.
class Channel {
 public:
  // `keys` are what the two ends are asked for, reader's first; "" for one that nobody may ask for.
  Channel(runtime::EventLoop& loop, std::string id, std::pair<std::string, std::string> keys,
          size_t capacity);

  const std::string& id() const { return id_; }
  const std::string& key(End end) const { return end == End::kRead ? keys_.first : keys_.second; }
  SteadyTime created() const { return created_; }

  // False when somebody has the end already.
  bool take(End end);
  bool taken(End end) const { return end == End::kRead ? read_taken_ : write_taken_; }

  // The writer's: waits for room, a message of any size goes into an empty channel. kUnavailable when the channel is closed, kCancelled
  // on stop. One at a time.
  Task<Result<>> write(net::Message message, std::stop_token stop);
  // The writer's end: what was written can still be read, then `why` for one that came too early.
  void finish(std::optional<Error> why = std::nullopt);

  // The reader's: the next message; nothing after the writer's clean end. The error that the channel was closed or finished with,
  // kCancelled on stop.
  // One at a time.
  Task<Result<std::optional<net::Message>>> read(std::stop_token stop);

  // Ends it for both: an end has gone before its time, or the channel's owner has. What waits in it is dropped. Once or more.
  void close(Error why);
  // Fired by close(), and when the last message after finish() was read.
  std::stop_token over() const { return over_.get_token(); }

  size_t buffered_bytes() const { return bytes_; }

 private:
  bool full() const;
  Task<bool> wait(std::optional<runtime::Completion<bool>>& waiter, std::stop_token stop);
  static void wake(std::optional<runtime::Completion<bool>>& waiter);

  runtime::EventLoop& loop_;
  const std::string id_;
  const std::pair<std::string, std::string> keys_;
  const size_t capacity_;
  const SteadyTime created_;
  bool read_taken_ = false;
  bool write_taken_ = false;
  bool finished_ = false;
  std::optional<Error> too_early_;  // why it was finished
  std::optional<Error> closed_;
  std::deque<net::Message> queue_;
  size_t bytes_ = 0;
  std::optional<runtime::Completion<bool>> reader_;  // waits for a message
  std::optional<runtime::Completion<bool>> writer_;  // waits for room
  std::stop_source over_;
};
using ChannelPtr = std::shared_ptr<Channel>;

}  // namespace chela::bus::channels
