#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "llm/provider.h"
#include "runtime/event_loop.h"

namespace chela::llm {

struct FailOverSettings {
  std::vector<std::string> models = {};  // asked in this order when another does not answer
  int threshold = 3;                     // failed calls in a row until a model is passed over
  std::chrono::milliseconds cooldown{};  // for so long
};

// Asks other models when one does not answer: each by its own name, at its own provider. Whose fault a failure is says failure.h. Models that
// keep failing are passed over for a while; when all are, the one that has waited longest is asked.
//
// After text has been passed on the next provider goes on from it, if it can and no thought or call of a tool had begun: it is given the text
// so far as the beginning of its answer, and only the rest is passed on. Else a delta with `reset` says that all of it is void, before the
// next one is asked: a caller that cannot take back what it has passed on stops the call at that moment and gets the error.
//
// Owned by the front; lives on the loop.
class FailOver final : public Provider {
 public:
  // Where a model's name leads.
  struct Target {
    std::string provider;
    std::string sent_as;   // the model's name there
    bool usable = false;   // there is a key, or none is needed
    bool goes_on = false;  // from the beginning of an answer
  };
  using Resolve = std::function<Target(const std::string& model)>;

  // `inner` asks the provider that request.model leads to.
  FailOver(Provider& inner, Resolve resolve, const runtime::EventLoop& loop)
      : inner_(inner), resolve_(std::move(resolve)), loop_(loop) {}

  void configure(FailOverSettings settings) { settings_ = std::move(settings); }

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return inner_.models(std::move(stop));
  }

  size_t remembered() const { return failing_.size(); }

 private:
  struct Candidate {
    std::string model;  // as the request or the settings name it
    Target target;
    std::string id() const { return target.provider + "/" + target.sent_as; }
  };
  struct Failing {
    int failures = 0;
    SteadyTime last{};  // of them; from here on it is passed over, once there are too many
  };
  class Shown;

  std::vector<Candidate> candidates(const std::string& model) const;
  // How long the model is still passed over, 0 when it is not.
  std::chrono::milliseconds cooling(const std::string& id) const;
  void failed(const std::string& id);
  void tell(const Request& request, const Candidate& next, std::string reason) const;

  Provider& inner_;
  Resolve resolve_;
  const runtime::EventLoop& loop_;
  FailOverSettings settings_;
  std::map<std::string, Failing, std::less<>> failing_;  // by id
};

}  // namespace chela::llm
