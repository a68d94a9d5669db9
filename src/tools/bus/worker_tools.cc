#include "tools/bus/worker_tools.h"

#include "obs/log.h"
#include "tools/bus/limits.h"
#include "tools/bus/worker_tool.h"

namespace chela::tools {

const std::vector<ToolPtr>& WorkerTools::tools(const Scope& scope) {
  static const std::vector<ToolPtr> kNone;
  if (bus_.functions().tools().empty()) return kNone;
  const bus::Viewer viewer{.tenant = bus::tenant_of(scope.realm, scope.user)};
  if (known_revision_ != revision()) known_.clear();
  known_revision_ = revision();
  if (const auto found = known_.find(viewer.tenant); found != known_.end()) return found->second;
  if (known_.size() >= kMaxKnownToolUsers) known_.clear();
  return known_.emplace(viewer.tenant, make(viewer)).first->second;
}

std::vector<ToolPtr> WorkerTools::make(const bus::Viewer& viewer) {
  std::map<std::string_view, ToolPtr> by_name;  // views into the tools
  size_t bytes = 0;
  const auto offer = [&](const std::string& id) -> Result<> {
    const bus::Functions::Row row = bus_.functions().find_tool(id, viewer);
    if (row.spec == nullptr) return {};
    Result<ToolPtr> tool = WorkerTool::create(bus_, *row.spec);
    if (!tool) return fail(tool.error());
    const std::string_view name = (*tool)->info().name;
    const size_t added = static_cast<const WorkerTool&>(**tool).bytes();
    if (registry_.taken(name)) return fail(Code::kConflict, "the name {} is that of a built-in tool", name);
    if (by_name.contains(name))
      return fail(Code::kConflict, "another function is offered as {} already", name);
    if (by_name.size() >= kMaxWorkerTools)
      return fail(Code::kTooLarge, "workers offer {} tools, which is the limit", kMaxWorkerTools);
    if (bytes + added > kMaxWorkerToolsBytes)
      return fail(Code::kTooLarge, "the tools of workers take {} bytes of a prompt, which is the limit",
                  kMaxWorkerToolsBytes);
    bytes += added;
    by_name.emplace(name, std::move(*tool));
    return {};
  };
  // "tool::x" has the name x before a function "x" that is marked as a tool.
  for (const bool prefixed : {true, false}) {
    for (const std::string& id : bus_.functions().tools()) {
      if (id.starts_with(bus::kToolPrefix) != prefixed) continue;
      if (const Result<> offered = offer(id); !offered) tell(id, offered.error());
    }
  }
  std::vector<ToolPtr> list;
  list.reserve(by_name.size());
  for (auto& [name, tool] : by_name) list.push_back(std::move(tool));
  return list;
}

void WorkerTools::tell(std::string_view function_id, const Error& why) {
  std::string problem = fmt::format("{}\n{}", function_id, why.message);
  if (told_.contains(problem)) return;
  if (told_.size() >= kMaxToldToolProblems) told_.clear();
  told_.insert(std::move(problem));
  log::warn("tools", "a function of a worker is not offered as a tool",
            {{"function", function_id}, {"reason", why.message}});
}

}  // namespace chela::tools
