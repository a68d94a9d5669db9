#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace chela::bus::observability {

// A share of the traces that begin with certain calls. `*` stands for any run of characters, `?` for one; "" for everything.
struct SamplingRule {
  std::string operation = {};  // a function's id
  std::string service = {};    // who calls: its worker's name
  double rate = 1;
};

struct SamplingConfig {
  enum class Parent { kFollow, kIgnore };
  double ratio = 1;                 // where no rule fits
  std::vector<SamplingRule> rules;  // the first that fits
  Parent parent = Parent::kFollow;  // a caller that samples decides
  std::optional<double> traces_per_second;
};

bool matches_glob(std::string_view pattern, std::string_view text);

// Which traces are kept. Loop thread only.
class Sampler {
 public:
  explicit Sampler(SamplingConfig config);

  // A trace begins: of ten at a rate of 0.3 the fourth, seventh and tenth.
  bool begins(std::string_view operation, std::string_view service, SteadyTime now);
  bool follows_parent() const { return config_.parent == SamplingConfig::Parent::kFollow; }
  json::Value describe() const;

 private:
  bool within_limit(SteadyTime now);

  const SamplingConfig config_;
  std::vector<double> owed_;  // of a trace: by each rule, and last by the ratio
  double allowance_;          // of the limit
  SteadyTime refilled_{};
};

}  // namespace chela::bus::observability
