#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/lines.h"
#include "cli/output.h"
#include "crypto/secret.h"
#include "runtime/task.h"

namespace chela::app {

// What the wizard has got so far; saved after each step.
struct WizardState {
  enum class Step { kProvider, kKey, kModel, kTest, kDone };
  Step step = Step::kProvider;  // the next one
  std::string backend;          // "local", "openai", "openai_compatible", "ollama"; "" while it is not chosen
};

// What the wizard does to the world.
class WizardPorts {
 public:
  virtual ~WizardPorts() = default;
  virtual Result<WizardState> load() = 0;
  virtual Result<> save(WizardState state) = 0;
  virtual Result<> set_config(std::string_view key, std::string_view value) = 0;
  virtual Task<Result<crypto::Secret>> ask_secret(std::string prompt) = 0;
  virtual Task<Result<>> keep_secret(std::string name, crypto::Secret value) = 0;
  // With what is configured now.
  virtual Task<Result<std::vector<std::string>>> models() = 0;
  virtual Task<Result<>> fetch_local_model() = 0;     // nothing to do when it is there
  virtual Task<Result<std::string>> test_call() = 0;  // what the model said
};

enum class WizardKeys { kAsk, kSkip };  // --skip-auth

// The first steps with Chela: provider, key, model, a test call. Each step may be skipped with an empty line where there is no default, or
// with "s"; what was done is kept, so that a wizard that ends early goes on where it was. Ends with the exit code.
class Wizard {
 public:
  Wizard(WizardPorts& ports, cli::Lines& lines, const cli::Output& output, WizardKeys keys,
         std::stop_token stop)
      : ports_(ports), lines_(lines), output_(output), keys_(keys), stop_(std::move(stop)) {}

  Task<int> run();

 private:
  Task<Result<>> provider();
  Task<Result<>> key();
  Task<Result<>> model();
  Task<Result<>> test();
  // The answer; kCancelled at the end of the input.
  Task<Result<std::string>> ask(std::string question);
  Task<Result<>> local_model();
  void say(std::string_view text) const { output_.note(text); }

  WizardPorts& ports_;
  cli::Lines& lines_;
  const cli::Output& output_;
  const WizardKeys keys_;
  const std::stop_token stop_;
  WizardState state_;
};

// What a person says to a question [Y/n]. An empty line is a yes; what is neither is asked again, kMaxWizardTries times in all.
enum class YesNo { kYes, kNo, kUnclear };
Task<Result<YesNo>> ask_yes_no(cli::Lines& lines, const cli::Output& output, std::string question,
                               std::stop_token stop);

std::string_view step_name(WizardState::Step step);  // "provider", ... for the file
std::optional<WizardState::Step> step_from_name(std::string_view name);

}  // namespace chela::app
