"""`chela onboard` on a terminal: what it asks, what it leaves behind, and when `chela run` offers it."""

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.process import DIE_WITH_US
from support.waiting import DEADLINE

MODELS = Path(os.environ.get("CHELA_CACHE", Path.home() / ".cache" / "chela")) / "models"
KEY = "sk-0123456789abcdefTYPEDKEY"


class Terminal:
    """A program of the home on a terminal of its own."""

    def __init__(self, engine, *args, env=None):
        self.control, terminal = pty.openpty()
        self.child = subprocess.Popen([*DIE_WITH_US, engine.program, *args], env={**engine.environment(), **(env or {})}, stdin=terminal,
                                      stdout=terminal, stderr=terminal, start_new_session=True)
        os.close(terminal)
        os.set_blocking(self.control, False)
        self.text, self.seen = "", 0

    def _read(self):
        try:
            self.text += os.read(self.control, 65536).decode(errors="replace")
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            pass  # the other side is closed

    def expect(self, *words):
        until = time.monotonic() + DEADLINE
        for word in words:
            while self.text.find(word, self.seen) < 0:
                assert time.monotonic() < until, f"no {word!r} in:\n{self.text}"
                self._read()
            self.seen = self.text.find(word, self.seen) + len(word)
        return self

    def type(self, line):
        os.write(self.control, line.encode() + b"\n")
        return self

    def end(self):
        until = time.monotonic() + DEADLINE
        while self.child.poll() is None and time.monotonic() < until:
            self._read()
        self._read()
        return self.child.wait(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.control)


@pytest.fixture
def fresh(own_engine):
    """A home with nothing configured."""
    for name in ("LLM_BACKEND", "LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"):
        own_engine.env.pop(name)
    return own_engine


def test_a_provider_a_key_and_a_model(fresh, model):
    (fresh.home / "config.toml").write_text("# my own words\n[gateway]\nport = 0 # any\n")
    with Terminal(fresh, "onboard") as terminal:
        terminal.expect("Number [1]").type("3").expect("address").type(f"http://127.0.0.1:{model.port}/v1")
        terminal.expect("not shown").type(KEY).expect("Kept in the vault as llm_api_key")
        terminal.expect("1  ", "Number or name").type("").expect("It says: ", "Done.")
        assert terminal.end() == 0
        assert KEY not in terminal.text
    text = (fresh.home / "config.toml").read_text()
    assert text.startswith("# my own words\n[gateway]\nport = 0 # any\n") and 'api_key = "secret:llm_api_key"' in text and KEY not in text
    headers = {name.lower(): value for name, value in model.requests()[-1]["headers"].items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    code, out, _ = fresh.cli("run", "-m", "hello")
    assert code == 0 and out.endswith("hello\n")


def test_it_goes_on_where_it_was_stopped(fresh, model):
    with Terminal(fresh, "onboard") as terminal:
        terminal.expect("Number [1]").type("3").expect("address").type(f"http://127.0.0.1:{model.port}/v1").expect("not shown")
        os.kill(terminal.child.pid, signal.SIGINT)
        assert terminal.end() == 130
    with Terminal(fresh, "onboard", "--skip-auth") as terminal:
        terminal.expect("Going on with the key", "Number or name").type("").expect("Done.")
        assert terminal.end() == 0


def test_without_a_terminal_it_says_what_to_do(fresh):
    code, out, err = fresh.cli("onboard")
    assert (code, out) == (2, "") and "needs a terminal" in err and "config.toml" in err


def test_run_offers_it_once(fresh, model):
    env = {"CHELA_GATEWAY_PORT": "0"}
    with Terminal(fresh, "run", env=env) as terminal:
        terminal.expect("[Y/n]").type("y").expect("Number [1]").type("3").expect("address").type(f"http://127.0.0.1:{model.port}/v1")
        terminal.expect("not shown").type("").expect("Number or name").type("").expect("Done.", "Type a message")
        terminal.type("/quit")
        assert terminal.end() == 0
    with Terminal(fresh, "run", env=env) as terminal:
        terminal.expect("Type a message").type("/quit")
        assert terminal.end() == 0 and "[Y/n]" not in terminal.text


@pytest.mark.parametrize("args, env", [(["--no-onboard"], {}), ([], {"ONBOARD_COMPLETED": "true"}), ([], {"LLM_BACKEND": "local"})])
def test_run_does_not_offer_it(fresh, args, env):
    (fresh.home / "models").symlink_to(MODELS)  # nothing to fetch
    with Terminal(fresh, "run", *args, env=env) as terminal:
        terminal.expect("Type a message").type("/quit")
        assert terminal.end() == 0 and "[Y/n]" not in terminal.text


def test_who_does_not_want_it_is_not_asked_again(fresh):
    (fresh.home / "models").symlink_to(MODELS)
    with Terminal(fresh, "run") as terminal:
        terminal.expect("[Y/n]").type("n").expect("Type a message").type("/quit")
        assert terminal.end() == 0
    with Terminal(fresh, "run") as terminal:
        terminal.expect("Type a message").type("/quit")
        assert terminal.end() == 0 and "[Y/n]" not in terminal.text
