#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bus/bus.h"
#include "tools/registry.h"

namespace chela::tools {

inline constexpr std::string_view kWorkerToolGroup = "bus";

// The functions of workers that are tools: those of a user's own workers and of administrators'. Each user's list is made when it is
// asked for and kept until a tool of anybody changes. What cannot be offered is said in the log, once. Loop thread only.
class WorkerTools final : public ToolSource {
 public:
  // `registry` says which names are taken.
  WorkerTools(bus::Bus& bus, const Registry& registry) : bus_(bus), registry_(registry) {}

  const std::vector<ToolPtr>& tools(const Scope& scope) override;
  std::uint64_t revision() const override { return bus_.functions().tools_revision(); }

 private:
  std::vector<ToolPtr> make(const bus::Viewer& viewer);
  void tell(std::string_view function_id, const Error& why);

  bus::Bus& bus_;
  const Registry& registry_;
  std::unordered_map<std::string, std::vector<ToolPtr>> known_;  // by tenant
  std::uint64_t known_revision_ = 0;
  std::set<std::string> told_;
};

}  // namespace chela::tools
