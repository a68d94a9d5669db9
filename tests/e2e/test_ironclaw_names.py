"""Started as IronClaw is: its flag, its environment's names, no terminal and nothing on standard input."""

import signal

import pytest

from support import Chat, Engine
from support.process import Process
from support.waiting import wait_until


class Foreign(Engine):
    """`chela --no-onboard` with IronClaw's names; ports are told by ours, so that tests never meet on one."""

    def __init__(self, home, model_port):
        super().__init__(home)
        self.env.update(
            GATEWAY_ENABLED="true", GATEWAY_HOST="127.0.0.1", GATEWAY_AUTH_TOKEN="e2e-test-token", GATEWAY_USER_ID="e2e-tester",
            CLI_ENABLED="false", LLM_BACKEND="openai_compatible", LLM_BASE_URL=f"http://127.0.0.1:{model_port}", LLM_MODEL="scripted",
            DATABASE_BACKEND="libsql", LIBSQL_PATH=str(self.home / "e2e.db"), SANDBOX_ENABLED="false", SKILLS_ENABLED="true",
            ROUTINES_ENABLED="false", HEARTBEAT_ENABLED="false", EMBEDDING_ENABLED="false", ONBOARD_COMPLETED="true", RUST_LOG="ironclaw=info")

    def start(self, *args):
        self.process = Process([self.program, *(args or ["--no-onboard"])], self.environment(), self.home / "engine.out", self.home / "engine.err")
        wait_until(self._announced, "the engine starts")
        return self


@pytest.fixture
def foreign(tmp_path, model):
    engine = Foreign(tmp_path / "home", model.port)
    yield engine
    engine.close()


def test_it_serves_until_it_is_told_to_leave(foreign, model):
    model.set_script({"default": {"text": "The answer is 4."}})
    foreign.start()
    assert foreign.api.get("/api/health").json()["status"] == "healthy"
    chat = Chat(foreign)
    chat.say("What is 2+2?")
    assert chat.turns()[-1]["response"] == "The answer is 4."
    assert foreign.process.end(signal.SIGTERM) == 0


def test_without_a_chat_of_its_own_it_is_headless(foreign):
    """The switch stands for --headless: a second engine on the home refuses instead of talking to the first."""
    foreign.start()
    code, _, err = foreign.cli("run")
    assert code == 6 and "runs already" in err


def test_a_message_is_answered_all_the_same(foreign, model):
    model.set_script({"default": {"text": "answered"}})
    code, out, err = foreign.cli("run", "-m", "hello")
    assert (code, out.strip()) == (0, "answered"), err
