#include "runtime/epoll.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <span>
#include <utility>

#include "base/check.h"

namespace chela::runtime {
namespace {

constexpr size_t kEventsAtOnce = 128;
constexpr std::uint32_t kBroken = EPOLLERR | EPOLLHUP;  // told without being asked for
constexpr Epoll::Key kAlarm = 0;                        // no descriptor has turn 0

Epoll::Key key_of(int fd, std::uint32_t turn) {
  return std::uint64_t{turn} << 32 | static_cast<std::uint32_t>(fd);
}
int fd_of(Epoll::Key key) { return static_cast<int>(key & 0xffff'ffff); }
std::uint32_t bit(Epoll::Side side) { return side == Epoll::Side::kRead ? EPOLLIN : EPOLLOUT; }
size_t index(Epoll::Side side) { return side == Epoll::Side::kRead ? 0 : 1; }

}  // namespace

Epoll::Epoll() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), ready_(kEventsAtOnce) {
  CHELA_CHECK(epoll_ >= 0, "the kernel gives no epoll");
}

Epoll::~Epoll() { ::close(epoll_); }

Epoll::Slot* Epoll::slot_of(Key key) {
  const size_t fd = key & 0xffff'ffff;
  return fd < slots_.size() && slots_[fd].turn == key >> 32 && key >> 32 != 0 ? &slots_[fd] : nullptr;
}

bool Epoll::tell(int operation, Key key, std::uint32_t events) const {
  epoll_event event{.events = events, .data = {.u64 = key}};
  return ::epoll_ctl(epoll_, operation, fd_of(key), &event) == 0;
}

Epoll::Key Epoll::add(int fd) {
  CHELA_CHECK(fd >= 0, "a descriptor that is none");
  if (slots_.size() <= static_cast<size_t>(fd)) slots_.resize(static_cast<size_t>(fd) + 1);
  if (const Slot& before = slots_[static_cast<size_t>(fd)]; before.turn != 0) remove(key_of(fd, before.turn));
  Slot& slot = slots_[static_cast<size_t>(fd)];
  if (++turns_ == 0) ++turns_;
  slot.turn = turns_;
  return key_of(fd, slot.turn);
}

void Epoll::remove(Key key) {
  Slot* slot = slot_of(key);
  if (slot == nullptr) return;
  if (!slot->parked) tell(EPOLL_CTL_DEL, key, 0);
  // Callbacks own things that may come back here when they go.
  const Slot gone = std::exchange(*slot, Slot());
}

void Epoll::add_alarm(int fd) {
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = kAlarm}};
  CHELA_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll does not take an eventfd");
}

bool Epoll::watch(Key key, Slot& slot, std::uint32_t events) {
  const bool told = tell(slot.parked ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, key, events);
  slot.parked = !told;
  slot.watched = told ? events : 0;
  return told;
}

void Epoll::park(Key key, Slot& slot) {
  tell(EPOLL_CTL_DEL, key, 0);
  slot.watched = 0;
  slot.parked = true;
}

void Epoll::wait(Key key, Side side, Callback callback) {
  Slot* slot = slot_of(key);
  if (slot == nullptr) return;
  const Callback before = std::exchange(slot->callbacks[index(side)], std::move(callback));
  if ((slot->watched & bit(side)) == 0 && !watch(key, *slot, slot->watched | bit(side)))
    refused_.emplace_back(key, side);
}

void Epoll::cancel(Key key, Side side) {
  Slot* slot = slot_of(key);
  if (slot == nullptr) return;
  const Callback before = std::exchange(slot->callbacks[index(side)], {});
}

void Epoll::look(Patience patience) {
  drop_written();
  refused_now_.insert(refused_now_.end(), refused_.begin(), refused_.end());
  refused_.clear();
  const bool patient = patience == Patience::kEndless && refused_now_.empty();
  const int count = ::epoll_wait(epoll_, ready_.data(), static_cast<int>(ready_.size()), patient ? -1 : 0);
  at_ = 0;
  count_ = count > 0 ? static_cast<size_t>(count) : 0;  // a signal is nothing that is ready
  for (epoll_event& event : std::span(ready_).first(count_)) {
    if ((event.events & kBroken) != 0) event.events |= EPOLLIN | EPOLLOUT;
  }
}

// A socket can be written to nearly always: what waits for nobody would be told at every look.
void Epoll::drop_written() {
  const Key key = std::exchange(written_, 0);
  Slot* slot = slot_of(key);
  if (slot == nullptr || (slot->watched & EPOLLOUT) == 0 || slot->callbacks[index(Side::kWrite)]) return;
  watch(key, *slot, slot->watched & ~EPOLLOUT);
}

// Once for each look: who waits again without having got anything would else keep the loop from all the others.
Callback Epoll::refused() {
  while (!refused_now_.empty()) {
    const auto [key, side] = refused_now_.back();
    refused_now_.pop_back();
    Slot* slot = slot_of(key);
    if (slot == nullptr) continue;
    if (Callback callback = std::exchange(slot->callbacks[index(side)], {})) return callback;
  }
  return {};
}

Callback Epoll::next() {
  drop_written();
  if (Callback callback = refused()) return callback;
  for (; at_ < count_; ++at_) {
    epoll_event& event = ready_[at_];
    const Key key = event.data.u64;
    for (const Side side : {Side::kWrite, Side::kRead}) {
      Slot* slot = slot_of(key);
      if (slot == nullptr) break;  // the alarm, or removed since look()
      if ((event.events & bit(side)) == 0) continue;
      event.events &= ~bit(side);
      if (Callback callback = std::exchange(slot->callbacks[index(side)], {})) {
        if (side == Side::kWrite) written_ = key;
        return callback;
      }
      // What nobody waits for is told no more; what is broken is told as long as it is watched at all.
      if ((slot->watched & bit(side)) != 0) watch(key, *slot, slot->watched & ~bit(side));
      if ((event.events & kBroken) != 0 && slot->watched == 0 && !slot->parked) park(key, *slot);
    }
  }
  return {};
}

}  // namespace chela::runtime
