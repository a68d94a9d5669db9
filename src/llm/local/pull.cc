#include "llm/local/pull.h"

#include "base/strings.h"
#include "base/utf8.h"
#include "os/child_process.h"
#include "os/environment.h"

namespace chela::llm::local {
namespace {

constexpr size_t kReadBytes = 4096;
constexpr size_t kMaxLineBytes = 4096;  // a longer one is cut

// The script runs pip: a person's mirror, proxy and certificates are to count.
bool concerns_pip(std::string_view name) {
  const std::string lower = strings::lower(name);
  return name.starts_with("PIP_") || lower.ends_with("_proxy") || name == "SSL_CERT_FILE" ||
         name == "SSL_CERT_DIR" || name == "REQUESTS_CA_BUNDLE" || name == "XDG_CONFIG_HOME" ||
         name == "XDG_CACHE_HOME";
}

// Cuts a byte stream into lines without the script's own prefix.
class Lines {
 public:
  explicit Lines(PullProgress progress) : progress_(std::move(progress)) {}

  void add(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n' || c == '\r') {
        end_line();
      } else if (line_.size() < kMaxLineBytes) {
        line_ += c;
      }
    }
  }

  void end_line() {
    std::string_view text = strings::trim(line_);
    if (text.starts_with("models: ")) text.remove_prefix(8);
    if (!text.empty()) {
      last_ = utf8::sanitize(text);
      if (progress_) progress_(last_);
    }
    line_.clear();
  }

  const std::string& last() const { return last_; }

 private:
  PullProgress progress_;
  std::string line_;
  std::string last_;
};

}  // namespace

Task<Result<>> pull(os::Poller& poller, PullOptions options, PullProgress progress, std::stop_token stop) {
  os::SpawnOptions spawn{.argv = {"python3", options.script, "--dest", options.models_dir},
                         .env = os::base_environment()};
  for (const auto& [name, value] : os::environment()) {
    if (concerns_pip(name)) spawn.env.emplace_back(name, value);
  }
  spawn.env.emplace_back("PYTHONDONTWRITEBYTECODE", "1");  // the folder of the script may be read-only
  spawn.err.kind = os::Stdio::Kind::kPipe;
  Result<os::ChildProcess> child = co_await os::ChildProcess::spawn(poller, std::move(spawn));
  if (!child && child.error().code == Code::kNotFound) {
    co_return fail(Code::kUnavailable,
                   "fetching the model needs python3 with pip. Next step: apt install python3-pip");
  }
  if (!child) co_return fail(std::move(child.error()));

  Lines lines(std::move(progress));
  while (true) {
    const Result<std::string> bytes = co_await child->read_stderr(kReadBytes, stop);
    if (!bytes) {
      co_await child->terminate();
      co_return fail(bytes.error());
    }
    if (bytes->empty()) break;
    lines.add(*bytes);
  }
  lines.end_line();
  const Result<os::ExitStatus> ended = co_await child->wait(stop);
  if (!ended) {
    co_await child->terminate();
    co_return fail(ended.error());
  }
  if (ended->ok()) co_return Result<>{};
  std::string_view reason = lines.last();
  if (reason.starts_with("error: ")) reason.remove_prefix(7);
  co_return fail(Code::kUnavailable, "the model could not be fetched: {}",
                 reason.empty() ? ended->text() : reason);
}

}  // namespace chela::llm::local
