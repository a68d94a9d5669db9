#include "app/service.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "app/run_program.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "llm/local/infer_process.h"
#include "os/file.h"

namespace chela::app {
namespace {

namespace fs = std::filesystem;
using What = cli::ServiceCommand::What;
using Manager = ServiceUnit::Manager;

constexpr std::string_view kUnitName = "chela.service";
constexpr mode_t kUnitMode = 0644;

std::string value_of(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// The account that a file belongs to; the engine of a system unit runs as the owner of its home.
std::string owner_of(const std::string& path) {
  struct stat info{};
  const uid_t uid = ::stat(path.c_str(), &info) == 0 ? info.st_uid : ::geteuid();
  const passwd* const entry = ::getpwuid(uid);
  return entry ? entry->pw_name : std::to_string(uid);
}

class Service {
 public:
  Service(ServiceParts parts, const cli::ServiceCommand& command, std::stop_token stop)
      : parts_(parts), manager_(command.system ? Manager::kSystem : Manager::kUser), stop_(std::move(stop)) {}

  Task<Result<>> run(What what) {
    if (Result<> found = locate(); !found) co_return found;
    switch (what) {
      case What::kInstall:
        co_return co_await install();
      case What::kStart:
      case What::kStop:
        co_return co_await start_or_stop(what);
      case What::kStatus:
        co_return co_await status();
      case What::kPrint:
        parts_.output.out(unit_text(unit()));
        break;
      case What::kUninstall:
        co_return co_await uninstall();
    }
    co_return Result<>{};
  }

 private:
  Result<> locate() {
    if (manager_ == Manager::kSystem) {
      if (::geteuid() != 0)
        return fail(Code::kPermissionDenied, "--system is for root; without it the service is yours");
      file_ = "/etc/systemd/system";
    } else {
      fs::path folder = value_of(parts_.environment, "XDG_CONFIG_HOME");
      if (folder.empty()) folder = fs::path(value_of(parts_.environment, "HOME")) / ".config";
      if (folder.is_relative())
        return fail(Code::kInvalidArgument, "neither XDG_CONFIG_HOME nor HOME says where units are kept");
      file_ = folder / "systemd" / "user";
    }
    file_ /= kUnitName;
    return {};
  }

  Task<Result<ProgramResult>> systemctl(std::vector<std::string> args) {
    std::vector<std::string> argv{"systemctl"};
    if (manager_ == Manager::kUser) argv.emplace_back("--user");
    argv.insert(argv.end(), args.begin(), args.end());
    std::vector<std::pair<std::string, std::string>> session;
    for (const char* name : {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME"}) {
      if (const std::string value = value_of(parts_.environment, name); !value.empty())
        session.emplace_back(name, value);
    }
    Result<ProgramResult> done = co_await run_program(parts_.loop, parts_.poller, std::move(argv),
                                                      std::move(session), parts_.systemctl_wait, stop_);
    if (!done && done.error().code == Code::kNotFound)
      co_return fail(Code::kUnsupported,
                     "there is no systemd here (systemctl is missing); let your own supervisor run: chela "
                     "run --headless");
    if (done && done->err.find("Failed to connect to") != std::string::npos) {
      co_return fail(
          Code::kUnavailable, "{}: {}",
          manager_ == Manager::kUser
              ? "there is no systemd session of this user; log in directly instead of by su or sudo, or run "
                "`loginctl enable-linger` for the user, or as root use --system"
              : "systemd does not run this machine; let your own supervisor run: chela run --headless",
          strings::trim(done->err));
    }
    co_return done;
  }

  // systemctl for its effect; what it complains of is the error.
  Task<Result<>> order(std::vector<std::string> args) {
    const std::string words = strings::join(args, " ");
    const Result<ProgramResult> done = co_await systemctl(std::move(args));
    if (!done) co_return fail(done.error());
    if (done->status.ok()) co_return Result<>{};
    co_return fail(Code::kInternal, "systemctl {}: {} ({}); see: journalctl {}-u {}", words,
                   strings::trim(done->err), done->status.text(), manager_ == Manager::kUser ? "--user " : "",
                   kUnitName);
  }

  std::string option() const { return manager_ == Manager::kSystem ? " --system" : ""; }
  ServiceUnit unit() const {
    return {.manager = manager_,
            .program = llm::local::beside_this_program("chela"),
            .home = parts_.paths.home,
            .user = manager_ == Manager::kSystem ? owner_of(parts_.paths.home) : ""};
  }
  bool installed() const { return ::access(file_.c_str(), F_OK) == 0; }
  Result<> want_installed() const {
    if (installed()) return {};
    return fail(Code::kNotFound, "the service is not installed; chela service install{} does it", option());
  }

  Task<Result<>> install() {
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    if (error)
      co_return fail(Code::kPermissionDenied, "cannot create {}: {}", file_.parent_path().string(),
                     error.message());
    if (Result<> written = os::write_file_atomic(file_.string(), unit_text(unit()), kUnitMode); !written)
      co_return written;
    parts_.output.line(fmt::format("wrote {}", file_.string()));
    if (Result<> read = co_await order({"daemon-reload"}); !read) co_return read;
    if (Result<> enabled = co_await order({"enable", std::string(kUnitName)}); !enabled) co_return enabled;
    parts_.output.line(fmt::format("installed; chela service start{} starts it", option()));
    co_return Result<>{};
  }

  Task<Result<>> start_or_stop(What what) {
    if (Result<> there = want_installed(); !there) co_return there;
    const std::string word = what == What::kStart ? "start" : "stop";
    if (Result<> done = co_await order({word, std::string(kUnitName)}); !done) co_return done;
    parts_.output.line(what == What::kStart ? "started" : "stopped");
    co_return Result<>{};
  }

  Task<Result<>> status() {
    if (Result<> there = want_installed(); !there) co_return there;
    const Result<ProgramResult> active = co_await systemctl({"is-active", std::string(kUnitName)});
    if (!active) co_return fail(active.error());
    const Result<ProgramResult> enabled = co_await systemctl({"is-enabled", std::string(kUnitName)});
    if (!enabled) co_return fail(enabled.error());
    parts_.output.text(
        fmt::format("{}, {}: {}\n", strings::trim(active->out), strings::trim(enabled->out), file_.string()));
    if (active->status.ok()) co_return Result<>{};
    co_return fail(Code::kUnavailable, "the service does not run; chela service start{} starts it", option());
  }

  Task<Result<>> uninstall() {
    if (Result<> there = want_installed(); !there) co_return there;
    if (Result<> off = co_await order({"disable", "--now", std::string(kUnitName)}); !off) co_return off;
    if (std::remove(file_.c_str()) != 0) co_return fail(os::system_error(errno, "remove", file_.string()));
    if (Result<> read = co_await order({"daemon-reload"}); !read) co_return read;
    parts_.output.line(fmt::format("removed {}; the home {} stays", file_.string(), parts_.paths.home));
    co_return Result<>{};
  }

  ServiceParts parts_;
  Manager manager_;
  fs::path file_;
  std::stop_token stop_;
};

}  // namespace

std::string unit_word(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '%' || c == '$') out += c;  // specifiers and variables are written twice
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    out += c;
  }
  return out + "\"";
}

// Only what holds without privileges, so that the unit starts under every user's manager: tools may use namespaces for their own
// sandboxes and compile at run time, so neither is forbidden.
std::string unit_text(const ServiceUnit& unit) {
  const bool system = unit.manager == Manager::kSystem;
  std::string text = fmt::format(
      "[Unit]\n"
      "Description=Chela, an agent engine\n"
      "After=network-online.target\n"
      "Wants=network-online.target\n"
      "StartLimitIntervalSec=0\n"
      "\n"
      "[Service]\n"
      "Type=notify\n"
      "NotifyAccess=main\n"
      "ExecStart={} run --headless --no-onboard --home {}\n"
      "Restart=always\n"
      "RestartSec=3\n"
      "KillMode=mixed\n"
      "TimeoutStopSec=20\n"
      "LimitNOFILE=8192\n"
      "UMask=0077\n"
      "NoNewPrivileges=yes\n"
      "LockPersonality=yes\n"
      "RestrictRealtime=yes\n"
      "RestrictSUIDSGID=yes\n"
      "SystemCallArchitectures=native\n"
      "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK\n",
      unit_word(unit.program), unit_word(unit.home));
  if (system) {
    text += fmt::format(
        "User={}\n"
        "ProtectSystem=full\n"
        "ProtectClock=yes\n"
        "ProtectHostname=yes\n"
        "ProtectKernelLogs=yes\n"
        "ProtectKernelModules=yes\n"
        "ProtectKernelTunables=yes\n"
        "ProtectControlGroups=yes\n",
        unit.user);
  }
  return text + fmt::format("\n[Install]\nWantedBy={}\n", system ? "multi-user.target" : "default.target");
}

Task<int> run_service(ServiceParts parts, cli::ServiceCommand command, std::stop_token stop) {
  Service service(parts, command, std::move(stop));
  const Result<> done = co_await service.run(command.what);
  co_return done ? 0 : cli::report_error(done.error(), parts.output);
}

}  // namespace chela::app
