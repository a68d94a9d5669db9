#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/time.h"
#include "bus/link.h"
#include "bus/session.h"
#include "op/principal.h"
#include "runtime/completion.h"

namespace chela::bus {

// Who looks at the tables: a worker's functions and trigger types are seen by connections of its own realm and user; those of an
// administrator by everybody, and an administrator sees all.
struct Viewer {
  std::string tenant;
  bool sees_all = false;
};
std::string tenant_of(std::string_view realm, std::string_view user);
Viewer viewer_of(const op::Principal& principal);
// Whether the viewer is shown what belongs to `owner`.
bool sees(const Viewer& viewer, const Viewer& owner);

inline constexpr std::string_view kCallPermission = "bus:call";
inline constexpr std::string_view kDelegatePermission = "bus:delegate";

// In whose name calls are made, and until when that holds.
struct Rights {
  op::Principal principal;
  std::stop_token ended = {};              // the token behind it was revoked or has expired
  std::shared_ptr<const void> lease = {};  // kept, `ended` tells

  bool live(UnixMs now) const {
    return !ended.stop_requested() && (!principal.expires || *principal.expires > now);
  }
};
// What a caller of one user lends to a worker of another for one call: who the caller is, and of what the caller may do that which the
// worker's own token may do as well.
std::shared_ptr<const Rights> lend(const Rights& caller, const op::Principal& callee);

// What a worker says of itself with engine::workers::register.
struct WorkerInfo {
  std::string name;
  std::string runtime;
  std::string version;  // of its SDK
  std::string os;
  std::string isolation;
  std::string description;
  std::optional<std::int64_t> pid;
};

// One connection to the bus. Shared by the tables that name it; after `link` is null it is only an echo. Changed by Bus alone.
struct Worker {
  std::string id;
  std::string reattach_token;
  Rights rights;
  Viewer view;
  SessionPtr session = {};  // the rules of its listener; null: there are none
  Link* link = nullptr;
  std::string address;
  UnixMs connected_at = 0;
  std::uint64_t number = 0;  // later connections have higher ones

  WorkerInfo info;
  bool passing = false;     // there for one call of a program: nobody is told of it
  bool announced = false;   // it has said something; telemetry sockets of old SDKs never do
  bool introduced = false;  // it has said what it is, as SDKs do behind their registrations

  std::set<std::string, std::less<>> functions;
  std::map<std::string, std::string, std::less<>>
      renamed;  // functions: what the worker calls them, and the registry
  std::set<std::string, std::less<>> trigger_types;
  std::set<std::string, std::less<>> triggers;
  size_t registration_bytes = 0;
  size_t calls_made = 0;    // unanswered
  size_t calls_served = 0;  // unanswered
  size_t call_bytes = 0;    // of the data of its calls that run in the engine
  bool stalled = false;     // did not read while a caller was held back for it
  bool cut_off = false;     // closed because it does not read
  int bad_frames = 0;
  size_t undecided = 0;  // registrations that wait for a function to decide
  std::vector<runtime::Completion<bool>> settling = {};
  std::stop_source gone;  // for what works on its behalf

  // What other users have lent it, by the id of the call that it serves for them.
  std::map<std::string, std::shared_ptr<const Rights>, std::less<>> serving;

  // Whether calls of the viewer may go to it: an administrator sees others' workers, and gives them nothing.
  bool serves(const Viewer& viewer) const { return view.sees_all || view.tenant == viewer.tenant; }
  bool shows_to(const Viewer& viewer) const { return sees(viewer, view); }
  // The SDK is older than major.minor; nothing said counts as newest.
  bool older_than(int major, int minor) const;
};
using WorkerPtr = std::shared_ptr<Worker>;

// Whether the worker makes a call in that name only because it was lent the rights to: they end with the call that it serves, so nothing
// that is carried out later may be left behind in that name.
bool only_lent(const Worker& worker, const op::Principal& principal);

}  // namespace chela::bus
