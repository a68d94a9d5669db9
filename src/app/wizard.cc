#include "app/wizard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/strings.h"

namespace chela::app {
namespace {

using Step = WizardState::Step;

constexpr std::array kSteps{
    std::pair{Step::kProvider, std::string_view("provider")}, std::pair{Step::kKey, std::string_view("key")},
    std::pair{Step::kModel, std::string_view("model")}, std::pair{Step::kTest, std::string_view("test")},
    std::pair{Step::kDone, std::string_view("done")}};

struct Provider {
  std::string_view backend;
  std::string_view text;
  std::string_view url_key;  // asked for when not ""
  std::string_view url;      // its default
  std::string_view key_key;  // the configuration's key for the secret; "" needs none
  std::string_view secret;   // the secret's name in the vault
  std::string_view model_key;
};

constexpr std::array kProviders{
    Provider{"local", "a small model on this machine (no key, about 180 MB once)", "", "", "", "",
             "llm.model"},
    Provider{"openai", "OpenAI", "", "", "openai.api_key", "openai_api_key", "openai.model"},
    Provider{"openai_compatible", "another provider with an OpenAI-compatible address", "llm.base_url", "",
             "llm.api_key", "llm_api_key", "llm.model"},
    Provider{"ollama", "Ollama", "ollama.base_url", "http://localhost:11434", "", "", "ollama.model"}};

const Provider& provider_of(const std::string& backend) {
  for (const Provider& each : kProviders) {
    if (each.backend == backend) return each;
  }
  return kProviders.front();
}

bool is_skip(const std::string& answer) { return answer == "s" || answer == "skip"; }

}  // namespace

std::string_view step_name(Step step) {
  for (const auto& [each, name] : kSteps) {
    if (each == step) return name;
  }
  return "";
}

std::optional<Step> step_from_name(std::string_view name) {
  for (const auto& [each, known] : kSteps) {
    if (known == name) return each;
  }
  return std::nullopt;
}

Task<Result<YesNo>> ask_yes_no(cli::Lines& lines, const cli::Output& output, std::string question,
                               std::stop_token stop) {
  for (int tries = 0; tries < kMaxWizardTries; ++tries) {
    output.err(question + " [Y/n] ");
    const Result<std::optional<std::string>> line = co_await lines.next(stop);
    if (!line) co_return fail(line.error());
    if (!*line) co_return fail(Code::kCancelled, "stopped");
    const std::string answer = strings::lower(strings::trim(**line));
    if (answer.empty() || answer == "y" || answer == "yes") co_return YesNo::kYes;
    if (answer == "n" || answer == "no") co_return YesNo::kNo;
    output.note("Please type y or n.");
  }
  co_return YesNo::kUnclear;
}

Task<Result<std::string>> Wizard::ask(std::string question) {
  output_.err(question + " ");
  const Result<std::optional<std::string>> line = co_await lines_.next(stop_);
  if (!line) co_return fail(line.error());
  if (!*line) {
    output_.err("\n");
    co_return fail(Code::kCancelled, "stopped; what is done is kept, chela onboard goes on from here");
  }
  co_return std::string(strings::trim(**line));
}

Task<Result<>> Wizard::provider() {
  say("Which model shall answer?");
  for (size_t i = 0; i < kProviders.size(); ++i) say(fmt::format("  {}  {}", i + 1, kProviders[i].text));
  for (int tries = 0; tries < kMaxWizardTries; ++tries) {
    const Result<std::string> answer = co_await ask("Number [1], or s to skip:");
    if (!answer) co_return fail(answer.error());
    if (is_skip(*answer)) co_return Result<>{};
    const std::optional<size_t> number = answer->empty() ? 1 : strings::parse_int<size_t>(*answer);
    if (!number || *number < 1 || *number > kProviders.size()) {
      say(fmt::format("Please type a number from 1 to {}.", kProviders.size()));
      continue;
    }
    const Provider& chosen = kProviders.at(*number - 1);
    if (!chosen.url_key.empty()) {
      const Result<std::string> typed =
          co_await ask(chosen.url.empty() ? "Its address, like https://host/v1:"
                                          : fmt::format("Its address [{}]:", chosen.url));
      if (!typed) co_return fail(typed.error());
      const std::string url = typed->empty() ? std::string(chosen.url) : *typed;
      if (!url.starts_with("http://") && !url.starts_with("https://")) {
        say("An address begins with http:// or https://.");
        continue;
      }
      if (Result<> set = ports_.set_config(chosen.url_key, url); !set) co_return set;
    }
    state_.backend = chosen.backend;
    co_return ports_.set_config("llm.backend", chosen.backend);
  }
  say("Left as it is.");
  co_return Result<>{};
}

Task<Result<>> Wizard::key() {
  const Provider& chosen = provider_of(state_.backend);
  if (state_.backend.empty() || chosen.key_key.empty() || keys_ == WizardKeys::kSkip) co_return Result<>{};
  Result<crypto::Secret> value = co_await ports_.ask_secret("Its key (not shown; an empty line for none): ");
  if (!value && value.error().code == Code::kInvalidArgument) co_return Result<>{};  // nothing was typed
  if (!value && value.error().code == Code::kCancelled)
    co_return fail(Code::kCancelled, "stopped; what is done is kept, chela onboard goes on from here");
  if (!value) co_return fail(value.error());
  if (Result<> kept = co_await ports_.keep_secret(std::string(chosen.secret), std::move(*value)); !kept)
    co_return kept;
  say(fmt::format("Kept in the vault as {}.", chosen.secret));
  co_return ports_.set_config(chosen.key_key, fmt::format("secret:{}", chosen.secret));
}

Task<Result<>> Wizard::local_model() {
  const Result<> fetched = co_await ports_.fetch_local_model();
  if (fetched) co_return ports_.set_config("llm.model", "local/small");
  if (fetched.error().code == Code::kCancelled) co_return fetched;
  say(fmt::format("The model could not be fetched: {}. Next step: chela models pull local/small",
                  fetched.error().message));
  co_return Result<>{};
}

Task<Result<>> Wizard::model() {
  if (state_.backend.empty()) co_return Result<>{};
  if (state_.backend == "local") co_return co_await local_model();
  const Result<std::vector<std::string>> found = co_await ports_.models();
  const size_t shown = found ? std::min(found->size(), kMaxWizardModels) : 0;
  if (!found) say(fmt::format("The provider's models cannot be listed: {}", found.error().message));
  for (size_t i = 0; i < shown; ++i) say(fmt::format("  {}  {}", i + 1, found->at(i)));
  if (found && found->size() > shown) say(fmt::format("  ... and {} more", found->size() - shown));
  const Result<std::string> answer = co_await ask(shown > 0 ? "Number or name of the model [1], or s to skip:"
                                                            : "Name of the model, or s to skip:");
  if (!answer) co_return fail(answer.error());
  if (is_skip(*answer) || (answer->empty() && shown == 0)) co_return Result<>{};
  const std::optional<size_t> number = answer->empty() ? 1 : strings::parse_int<size_t>(*answer);
  const std::string name = number && *number >= 1 && *number <= shown ? found->at(*number - 1) : *answer;
  co_return ports_.set_config(provider_of(state_.backend).model_key, name);
}

Task<Result<>> Wizard::test() {
  if (state_.backend.empty()) co_return Result<>{};
  for (int tries = 0; tries < kMaxWizardTries; ++tries) {
    say("Asking the model...");
    const Result<std::string> reply = co_await ports_.test_call();
    if (reply) {
      output_.text("It says: " + *reply + "\n");
      co_return Result<>{};
    }
    if (stop_.stop_requested()) co_return fail(reply.error());
    say(fmt::format("It does not answer: {}", reply.error().message));
    const Result<std::string> answer =
        co_await ask("Again (a), another key (k), another provider (p), or Enter to go on:");
    if (!answer) co_return fail(answer.error());
    if (*answer == "p") {
      state_ = {};
      co_return ports_.save(state_);
    }
    if (*answer == "k") {
      if (Result<> asked = co_await key(); !asked) co_return asked;
    } else if (*answer != "a") {
      co_return Result<>{};
    }
  }
  co_return Result<>{};
}

Task<int> Wizard::run() {
  Result<WizardState> before = ports_.load();
  if (before) state_ = std::move(*before);
  if (state_.step == Step::kDone) state_ = {};
  if (state_.step != Step::kProvider) say(fmt::format("Going on with the {}.", step_name(state_.step)));
  while (state_.step != Step::kDone) {
    const Step step = state_.step;
    Result<> done;
    switch (step) {
      case Step::kProvider:
        done = co_await provider();
        break;
      case Step::kKey:
        done = co_await key();
        break;
      case Step::kModel:
        done = co_await model();
        break;
      case Step::kTest:
        done = co_await test();
        break;
      case Step::kDone:
        break;
    }
    if (done && !(step == Step::kTest && state_.step == Step::kProvider)) {
      state_.step = static_cast<Step>(static_cast<int>(step) + 1);
      done = ports_.save(state_);
    }
    if (!done) {
      output_.note("chela: " + done.error().message);
      co_return exit_code(done.error().code);
    }
  }
  say("Done. chela starts a conversation; chela doctor says what is missing.");
  co_return 0;
}

}  // namespace chela::app
