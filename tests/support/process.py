"""Programs that a test starts. They die with the test process, however that ends."""

import os
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CHELA_BUILD", ROOT / "build" / "release"))
STOP_SECONDS = 30

# The kernel kills the program when the test process dies.
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]

# What a program sees of the machine's environment: nothing that could configure it.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")


def clean_environment(**more):
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment.update({name: str(value) for name, value in more.items()})
    return environment


class Process:
    """One program, its output in files."""

    def __init__(self, command, env, out, err, stdin=subprocess.DEVNULL, cwd=None):
        self.out, self.err = Path(out), Path(err)
        with open(self.out, "ab") as out_file, open(self.err, "ab") as err_file:
            self.child = subprocess.Popen(DIE_WITH_US + [str(each) for each in command], env=env, stdin=stdin,
                                          stdout=out_file, stderr=err_file, cwd=cwd)

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child.poll() is None

    def end(self, how=signal.SIGTERM):
        """Sends the signal and gives the exit code; what does not leave in time is killed, and that is a failure."""
        if self.running():
            self.child.send_signal(how)
        try:
            return self.child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise AssertionError(f"process {self.pid} did not leave within {STOP_SECONDS} seconds") from None
