#include "bus/calls.h"

#include <charconv>

namespace chela::bus {
namespace {

// Ids have the form of a UUID because SDKs parse them as one; only our own number in it is read back.
constexpr std::string_view kIdHead = "00000000-0000-4000-8000-";
constexpr size_t kDigits = 12;
constexpr std::uint64_t kMaxNumber = (std::uint64_t{1} << 48) - 1;

std::string id_of(std::uint64_t number) {
  std::string id(kIdHead);
  id.resize(kIdHead.size() + kDigits, '0');
  for (size_t i = id.size(); number > 0 && i > kIdHead.size(); number >>= 4) {
    id[--i] = "0123456789abcdef"[number & 0xf];
  }
  return id;
}

std::optional<std::uint64_t> number_of(std::string_view id) {
  if (id.size() != kIdHead.size() + kDigits || !id.starts_with(kIdHead)) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = id.data() + id.size();
  const auto [stopped, ec] = std::from_chars(id.data() + kIdHead.size(), end, number, 16);
  if (ec != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

}  // namespace

WireError no_such_function(std::string_view id) {
  return {.code = "function_not_found", .message = fmt::format("Function {} not found", id)};
}

WireError no_free_worker(std::string_view id) {
  return {.code = "unavailable",
          .message = fmt::format(
              "every worker that provides {} is overloaded or does not read; try again later", id)};
}

std::string Calls::add(PendingCall call) {
  ++call.callee->calls_served;
  if (call.caller) ++call.caller->calls_made;
  last_ = last_ == kMaxNumber ? 1 : last_ + 1;
  std::string id = id_of(last_);
  if (call.lent) call.callee->serving.insert_or_assign(id, call.lent);
  spare_bytes_ += call.spare_bytes();
  open_.insert_or_assign(last_, std::move(call));
  return id;
}

PendingCall Calls::remove(Open::iterator at) {
  PendingCall call = std::move(at->second);
  if (call.lent) call.callee->serving.erase(id_of(at->first));
  open_.erase(at);
  spare_bytes_ -= call.spare_bytes();
  --call.callee->calls_served;
  if (call.caller) --call.caller->calls_made;
  return call;
}

std::optional<PendingCall> Calls::take(std::string_view id, const Worker& callee) {
  const std::optional<std::uint64_t> number = number_of(id);
  if (!number) return std::nullopt;
  if (const auto left = abandoned_.find(*number);
      left != abandoned_.end() && left->second.callee.get() == &callee)
    forget(left);
  const auto found = open_.find(*number);
  if (found == open_.end() || found->second.callee.get() != &callee) return std::nullopt;
  return remove(found);
}

std::optional<PendingCall> Calls::abandon(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return std::nullopt;
  PendingCall call = remove(found);
  ++call.callee->calls_served;
  abandoned_.insert_or_assign(number, Abandoned{.callee = call.callee, .deadline = call.deadline});
  return call;
}

Calls::AllAbandoned::iterator Calls::forget(AllAbandoned::iterator at) {
  --at->second.callee->calls_served;
  return abandoned_.erase(at);
}

std::vector<PendingCall> Calls::take_of(const WorkerPtr& worker) {
  for (auto it = abandoned_.begin(); it != abandoned_.end() && worker->calls_served > 0;) {
    it = it->second.callee == worker ? forget(it) : std::next(it);
  }
  std::vector<PendingCall> taken;
  for (auto it = open_.begin(); it != open_.end() && worker->calls_served + worker->calls_made > 0;) {
    const auto here = it++;
    PendingCall& call = here->second;
    if (call.callee == worker || (call.caller == worker && !call.waiter)) {
      taken.push_back(remove(here));
    } else if (call.caller == worker) {
      call.caller = nullptr;
      --worker->calls_made;
    }
  }
  return taken;
}

std::vector<PendingCall> Calls::take_expired(SteadyTime now) {
  for (auto it = abandoned_.begin(); it != abandoned_.end();) {
    it = it->second.deadline <= now ? forget(it) : std::next(it);
  }
  std::vector<PendingCall> taken;
  for (auto it = open_.begin(); it != open_.end();) {
    const auto here = it++;
    if (here->second.deadline <= now) taken.push_back(remove(here));
  }
  return taken;
}

}  // namespace chela::bus
