// chela-guard DIRECTORY PROGRAM ARGS...: runs a program for the engine and leaves nothing of it behind.
//
// It adopts every process that the program's tree orphans (child subreaper), so that new sessions and double forks do not escape it. One
// thread, so that fork is safe and the death signal means what it says. See protocol.h and os/child_process.h.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "os/guard/protocol.h"

namespace {

using chela::os::guard::kControlFd;
using chela::os::guard::kKillAll;
using chela::os::guard::Report;

// A process that cannot be killed (another user's, or stuck in the kernel) is given up after this many rounds
// in which nothing died.
constexpr int kMaxIdleRounds = 500;
constexpr timespec kIdleRound{.tv_sec = 0, .tv_nsec = 2'000'000};

void report(Report::Kind kind, int value) {
  const Report message{.kind = kind, .value = value};
  // When the engine is gone nobody needs it.
  (void)!send(kControlFd, &message, sizeof message, MSG_NOSIGNAL);
}

// Kills the program and all that is left of its tree; returns the program's wait status. The group first, while the program or its
// zombie holds the number. Then direct children, again and again: each death hands its own children to us. A pid cannot be
// reused meanwhile, because only we reap it.
int kill_everything(pid_t program) {
  kill(-program, SIGKILL);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(getpid()));
  int program_status = SIGKILL;
  for (int idle_rounds = 0; idle_rounds < kMaxIdleRounds;) {
    if (FILE* children = std::fopen(path, "re")) {
      int pid = 0;
      while (std::fscanf(children, "%d", &pid) == 1) kill(pid, SIGKILL);
      std::fclose(children);
    }
    bool any = false;
    int status = 0;
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, &status, WNOHANG)) > 0) {
      any = true;
      if (reaped == program) program_status = status;
    }
    if (reaped < 0) break;  // ECHILD: none left
    if (any) continue;
    nanosleep(&kIdleRound, nullptr);
    ++idle_rounds;
  }
  return program_status;
}

[[noreturn]] void end(pid_t program) {
  report(Report::kEnded, kill_everything(program));
  std::exit(0);
}

// In the forked child: becomes the program, or says why not.
[[noreturn]] void become(char** argv, pid_t guard, int failure_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // for the case that somebody kills the guard itself
  if (getppid() != guard) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(argv[0], argv);
  const int reason = errno;
  (void)!write(failure_fd, &reason, sizeof reason);
  _exit(127);
}

// Streams belong to the program alone: their readers see the end when it closes them. Before the engine hears that it started.
void let_go_of_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
}

pid_t start(char** argv) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    report(Report::kNotStarted, errno);
    std::exit(1);
  }
  const pid_t guard = getpid();
  const pid_t child = fork();
  if (child == 0) become(argv, guard, failure[1]);
  int reason = errno;
  let_go_of_streams();
  close(failure[1]);
  if (child < 0 || read(failure[0], &reason, sizeof reason) == sizeof reason) {
    report(Report::kNotStarted, reason);
    std::exit(1);
  }
  close(failure[0]);
  setpgid(child, child);  // as the child does: whoever comes first
  report(Report::kStarted, child);
  return child;
}

// Ends everything when the program has exited. It stays a zombie until kill_everything() has used its number.
void look_at(pid_t program) {
  while (true) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (info.si_pid == program) end(program);
    waitpid(info.si_pid, nullptr, WNOHANG);  // an adopted process
  }
}

void obey(pid_t program) {
  std::uint8_t command = kKillAll;
  const ssize_t got = recv(kControlFd, &command, 1, 0);
  if (got < 0 && errno == EINTR) return;
  if (got != 1 || command == kKillAll) end(program);
  kill(-program, command);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || fcntl(kControlFd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("chela-guard is started by chela, not by hand\n", stderr);
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t chld;
  sigemptyset(&chld);
  sigaddset(&chld, SIGCHLD);
  const int signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
  if (*argv[1] != '\0' && chdir(argv[1]) != 0) {
    report(Report::kNoDirectory, errno);
    return 1;
  }
  const pid_t child = start(argv + 2);
  while (true) {
    pollfd watched[2] = {{.fd = kControlFd, .events = POLLIN, .revents = 0},
                         {.fd = signals, .events = POLLIN, .revents = 0}};
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) {
      signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0) {
      }
      look_at(child);
    }
    if (watched[0].revents != 0) obey(child);
  }
}
