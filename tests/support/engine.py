"""The real program as an engine with a home of its own."""

import json
import signal
import subprocess
from pathlib import Path

import httpx

from support.process import BUILD, DIE_WITH_US, Process, clean_environment
from support.sse import open_events
from support.waiting import DEADLINE, wait_until

# Stands for a provider's key in every test, so that any place it leaks to can be recognised.
API_KEY = "sk-test-0123456789abcdefSECRETKEYOFTESTS"
MODEL = "scripted"
LOG_TAIL = 40

live = []  # engines started and not closed: conftest shows their logs when a test fails


def assert_no_report(text):
    """Programs of the presets dev and tsan say on stderr what the sanitizers found."""
    assert not any(sign in text for sign in ("Sanitizer", "runtime error:")), text[-20_000:]


class Engine:
    """`chela run --headless` on a free port. `env` adds to the environment or (None) takes from it."""

    def __init__(self, home, build=None, env=None, model_port=None):
        self.home = Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        self.program = Path(build or BUILD) / "bin" / "chela"
        self.env = {"HOME": self.home, "CHELA_HOME": self.home, "CHELA_GATEWAY_PORT": "0",
                    "CHELA_BUS_PORT": "0", "CHELA_BUS_HTTP_PORT": "0", "CHELA_BUS_STREAM_PORT": "0"}
        if model_port is not None:
            self.env.update(LLM_BACKEND="openai_compatible", LLM_MODEL=MODEL, LLM_API_KEY=API_KEY,
                            LLM_BASE_URL=f"http://127.0.0.1:{model_port}/v1")
        self.env.update(env or {})
        self.process = None
        self._api = None

    # --- life

    def start(self, *args):
        """Starts and waits until engine.json says where it listens."""
        assert self.process is None or not self.process.running(), "it runs already"
        self.process = Process([self.program, "run", "--headless", *args], self.environment(),
                               self.home / "engine.out", self.home / "engine.err")
        if self not in live:
            live.append(self)
        wait_until(self._announced, "the engine starts")
        return self

    def _announced(self):
        if not self.process.running():
            raise AssertionError(f"the engine ended with {self.process.child.returncode}:\n{self.log_tail()}")
        try:
            return self.engine_file()["pid"] == self.process.pid
        except (OSError, ValueError):
            return False

    def stop(self):
        """Asks it to leave and gives the exit code."""
        code = self.process.end(signal.SIGTERM)
        self._close_client()
        return code

    def kill9(self):
        self.process.end(signal.SIGKILL)
        self._close_client()

    def restart(self):
        """Orderly, on the same home; the port is another one afterwards."""
        assert self.stop() == 0
        return self.start()

    def close(self):
        """The end of a test: what still runs leaves in order, and no sanitizer has complained."""
        try:
            if self.running():
                assert self.stop() == 0, f"the engine left with {self.process.child.returncode}\n{self.log_tail()}"
            if self.process is not None:
                assert_no_report(self.process.err.read_text(errors="replace"))
        finally:
            self.drop()

    def drop(self):
        """Whatever state it is in, it runs no more."""
        if self.running():
            self.kill9()
        self._close_client()
        if self in live:
            live.remove(self)

    def running(self):
        return self.process is not None and self.process.running()

    def wait_dead(self):
        """Until it has ended by itself (a crash point); gives the exit code."""
        wait_until(lambda: not self.process.running(), "the engine ends by itself")
        self._close_client()
        return self.process.child.returncode

    def __enter__(self):
        return self if self.running() else self.start()

    def __exit__(self, kind, *_):
        self.close() if kind is None else self.drop()

    # --- what it says of itself

    def environment(self):
        return clean_environment(**{name: value for name, value in self.env.items() if value is not None})

    def engine_file(self):
        return json.loads((self.home / "run" / "engine.json").read_text())

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return self.engine_file()["ports"]["gateway"]

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self):
        return self.env.get("GATEWAY_AUTH_TOKEN") or (self.home / "gateway.token").read_text().strip()

    def log_text(self):
        """Everything it has logged and printed."""
        files = sorted((self.home / "logs").glob("*")) + [self.home / "engine.out", self.home / "engine.err"]
        return "".join(each.read_text(errors="replace") for each in files if each.is_file())

    def log_tail(self):
        parts = []
        if self.process is not None and not self.process.running():
            parts.append(f"--- it has ended with {self.process.child.returncode}")
        for name in ("logs/chela.log", "engine.err"):
            file = self.home / name
            if file.is_file():
                lines = file.read_text(errors="replace").splitlines()[-LOG_TAIL:]
                parts.append(f"--- {name}\n" + "\n".join(lines))
        return "\n".join(parts)

    # --- talking to it

    def client(self, token=None, **more):
        """A client with this token; "" sends none. Close it yourself."""
        headers = more.pop("headers", {})
        token = self.token if token is None else token
        if token:
            headers = {"Authorization": f"Bearer {token}", **headers}
        return httpx.Client(base_url=self.base_url, headers=headers, timeout=DEADLINE, **more)

    @property
    def api(self):
        """A client with the gateway's token, for this run of the engine."""
        if self._api is None:
            self._api = self.client()
        return self._api

    def _close_client(self):
        if self._api is not None:
            self._api.close()
            self._api = None

    def events(self, thread_id=None, last_event_id=None, token=None):
        """A context: the event stream of the user, or of one thread."""
        params = {} if thread_id is None else {"thread_id": thread_id}
        return open_events(self.base_url, token or self.token, last_event_id, **params)

    def cli(self, *args, stdin="", timeout=2 * DEADLINE, env=None):
        """Runs `chela ARGS` on this home; gives (exit code, stdout, stderr)."""
        environment = {**self.environment(), **(env or {})}
        done = subprocess.run([*DIE_WITH_US, str(self.program), *map(str, args)], env=environment, input=stdin,
                              capture_output=True, text=True, timeout=timeout, cwd=self.home)
        assert_no_report(done.stderr)
        return done.returncode, done.stdout, done.stderr
