"""A program on a real terminal: a tmux server of its own, whose screen a test reads."""

import shlex
import subprocess
import tempfile
import uuid
from pathlib import Path

from support.process import clean_environment
from support.waiting import wait_until


class Tmux:
    """Runs one program in one window. The server is reached through a socket of its own and ends with the test."""

    def __init__(self, command, env, columns=80, rows=24, cwd=None):
        self._folder = tempfile.TemporaryDirectory(prefix="chela-tmux-")
        self._socket = Path(self._folder.name) / "socket"
        self._exit = Path(self._folder.name) / "exit"
        self._stty = Path(self._folder.name) / "stty"
        self._name = f"t{uuid.uuid4().hex[:8]}"
        # What the shell says afterwards: the exit code, and whether the terminal is as it was.
        script = (f"stty -g > {self._stty}.before; {shlex.join(map(str, command))}; "
                  f"echo $? > {self._exit}.part; stty -g > {self._stty}.after; mv {self._exit}.part {self._exit}; exec sleep 1000")
        environment = clean_environment(**{"TERM": "xterm-256color", "LANG": "C.UTF-8", **env})
        set_all = [part for name, value in environment.items() for part in ("-e", f"{name}={value}")]
        self._base = ["tmux", "-u", "-S", str(self._socket), "-f", "/dev/null"]
        self._env = {**environment, "TERM": "xterm-256color"}
        term = environment.get("TERM", "")
        self._run("start-server", ";", "set-option", "-g", "history-limit", "5000", ";", "set-option", "-g", "default-terminal",
                  "tmux-256color", ";", "new-session", "-d", "-s", self._name, "-x", str(columns), "-y", str(rows),
                  *(["-c", str(cwd)] if cwd else []), *set_all, f"TERM={shlex.quote(term)} bash --norc -c {shlex.quote(script)}")

    def _run(self, *args):
        done = subprocess.run([*self._base, *args], env=self._env, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # --- what a person does

    def type(self, text):
        """Sends the text as keys, byte for byte."""
        self._run("send-keys", "-t", self._name, "-l", "--", text)

    def press(self, *keys):
        """Keys by tmux's names: Enter, Tab, C-c, Up."""
        self._run("send-keys", "-t", self._name, *keys)

    def say(self, text):
        self.type(text)
        self.press("Enter")

    def paste(self, text):
        """As a terminal does: in the marks of bracketed paste, if the program asked for them."""
        self._run("set-buffer", "-b", "pasted", "--", text, ";", "paste-buffer", "-p", "-b", "pasted", "-t", self._name)

    def resize(self, columns, rows):
        self._run("resize-window", "-t", self._name, "-x", str(columns), "-y", str(rows))

    # --- what a person sees

    def screen(self, history=False, colours=False):
        args = ["capture-pane", "-p", "-t", self._name]
        if history:
            args += ["-S", "-"]
        if colours:
            args += ["-e"]
        return self._run(*args)

    def wait_for(self, text, **how):
        """The screen, once this is on it: a text, or a check of the screen."""
        check = text if callable(text) else lambda screen: text in screen
        try:
            return wait_until(lambda: next((each for each in [self.screen(**how)] if check(each)), None), f"{text!r} is shown", 30)
        except AssertionError as error:
            raise AssertionError(f"{error}\n--- the screen\n{self.screen(history=True)}") from None

    def wait_exit(self):
        """The program's exit code."""
        wait_until(self._exit.exists, "the program ends", 30)
        return int(self._exit.read_text())

    def terminal_is_restored(self):
        return Path(f"{self._stty}.before").read_text() == Path(f"{self._stty}.after").read_text()

    def pane_pid(self):
        return int(self._run("display-message", "-p", "-t", self._name, "#{pane_pid}"))

    def close(self):
        subprocess.run([*self._base, "kill-server"], env=self._env, capture_output=True, timeout=30)
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
