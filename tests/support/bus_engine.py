"""`chela engine`: the bus alone, started with a configuration file of iii."""

import json
import signal
from pathlib import Path

from support.engine import assert_no_report
from support.process import BUILD, Process, clean_environment
from support.waiting import wait_until


class BusEngine:
    """One `chela engine` in a folder of its own. `config` is the text of its file."""

    def __init__(self, folder, config, env=None):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config = self.folder / "config.yaml"
        self.config.write_text(config)
        self.announced = self.folder / "announced.json"
        self.env = {"HOME": self.folder, **(env or {})}
        self.process = None

    def command(self, *args):
        return [BUILD / "bin" / "chela", "engine", "--config", self.config, "--announce", self.announced, *args]

    def launch(self):
        self.process = Process(self.command(), clean_environment(**self.env), self.folder / "out", self.folder / "err",
                               cwd=self.folder)
        return self

    def start(self):
        """Starts and waits until it says where it listens."""
        self.launch()
        wait_until(self._ready, "the bus starts")
        return self

    def _ready(self):
        if not self.process.running():
            raise AssertionError(f"it ended with {self.process.child.returncode}:\n{self.errors()}")
        try:
            return json.loads(self.announced.read_text())["pid"] == self.process.pid
        except (OSError, ValueError):
            return False

    @property
    def ports(self):
        return json.loads(self.announced.read_text())["ports"]

    def errors(self):
        return self.process.err.read_text(errors="replace")

    def fails(self):
        """Starts it, waits until it has ended; gives exit code and what it said."""
        self.launch()
        wait_until(lambda: not self.process.running(), "it ends by itself")
        return self.process.child.returncode, self.errors()

    def stop(self):
        code = self.process.end(signal.SIGTERM)
        assert_no_report(self.errors())
        return code

    def kill9(self):
        self.process.end(signal.SIGKILL)

    def close(self):
        if self.process is not None and self.process.running():
            assert self.stop() == 0, self.errors()
