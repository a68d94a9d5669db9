#include "bus/worker.h"

#include "base/strings.h"

namespace chela::bus {

std::string tenant_of(std::string_view realm, std::string_view user) {
  return fmt::format("{}\n{}", realm, user);
}

Viewer viewer_of(const op::Principal& principal) {
  return {.tenant = tenant_of(principal.realm, principal.user), .sees_all = principal.allows("admin")};
}

std::shared_ptr<const Rights> lend(const Rights& caller, const op::Principal& callee) {
  auto lent = std::make_shared<Rights>(caller);
  lent->principal.permissions = op::common(caller.principal.permissions, callee.permissions);
  return lent;
}

bool sees(const Viewer& viewer, const Viewer& owner) {
  return owner.sees_all || viewer.sees_all || owner.tenant == viewer.tenant;
}

bool Worker::older_than(int major, int minor) const {
  const std::vector<std::string_view> parts = strings::split(info.version, '.');
  if (parts.size() < 2) return false;
  const std::optional<int> own_major = strings::parse_int<int>(parts[0]);
  const std::optional<int> own_minor = strings::parse_int<int>(parts[1]);
  if (!own_major || !own_minor) return false;
  return *own_major != major ? *own_major < major : *own_minor < minor;
}

bool only_lent(const Worker& worker, const op::Principal& principal) {
  return viewer_of(principal).tenant != worker.view.tenant &&
         !worker.rights.principal.allows(kDelegatePermission);
}

}  // namespace chela::bus
