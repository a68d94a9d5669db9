#include "runtime/pool.h"

namespace chela::runtime {

Pool::Pool(EventLoop& loop, size_t threads, size_t max_queue)
    : loop_(loop), max_threads_(threads), max_queue_(max_queue) {}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Pool::submit(Callback work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= max_queue_) return false;
    queue_.push_back(std::move(work));
    if (idle_ < queue_.size() && threads_.size() < max_threads_)
      threads_.emplace_back([this] { work_loop(); });
  }
  ready_.notify_one();
  return true;
}

void Pool::work_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    ready_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    Callback work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace chela::runtime
