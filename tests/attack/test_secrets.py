"""Keys and tokens: nowhere but where they are needed."""

import json
import subprocess

import pytest

from support import Chat, Engine, wait_until
from support.engine import API_KEY
from support.scripts import call, tools_then

GATEWAY_TOKEN = "gateway-token-of-this-test-0123456789"
EXTRA = "extra-header-value-of-this-test-98765"


@pytest.fixture(scope="module")
def engine_env():
    return {"GATEWAY_AUTH_TOKEN": GATEWAY_TOKEN, "LLM_EXTRA_HEADERS": f"X-Private:{EXTRA}", "CHELA_LOG_LEVEL": "trace",
            "CHELA_AGENT_AUTO_APPROVE_TOOLS": "true", "CHELA_LLM_MAX_RETRIES": "0"}


SECRETS = (API_KEY, GATEWAY_TOKEN, EXTRA)


def assert_clean(where, text):
    for secret in SECRETS:
        assert secret not in text, f"{where} has a secret"


@pytest.fixture
def busy(engine, chat, model):
    """An engine that has done a bit of everything with its secrets."""
    model.set_script(tools_then("done", call("echo", message="hello"), call("read_file", path="/proc/self/environ")))
    chat.say("hello")
    engine.cli("run", "-m", "hello")
    with engine.client(token="") as client:
        client.get("/api/chat/history", params={"token": GATEWAY_TOKEN})
        client.get("/api/chat/history", headers={"Authorization": f"Bearer {GATEWAY_TOKEN}x"})
    return engine


def test_the_key_reaches_the_model_and_only_as_a_header(busy, model):
    for each in model.requests():
        headers = {name.lower(): value for name, value in each["headers"].items()}
        assert headers["authorization"] == f"Bearer {API_KEY}" and headers["x-private"] == EXTRA
        assert_clean("a prompt", json.dumps(each["body"]))


def test_not_in_the_log(busy):
    wait_until(lambda: "request" in busy.log_text(), "the log is written")
    assert_clean("the log", busy.log_text())


def test_not_in_what_the_engine_shows(busy, chat):
    for path in ("/metrics", "/openapi.json", "/api/gateway/status", "/api/chat/history", "/api/chat/threads", "/api/models", "/api/tokens",
                 f"/api/threads/{chat.thread}/log", "/"):
        answer = busy.api.get(path)
        assert answer.status_code == 200
        assert_clean(path, answer.text + str(answer.headers))
    for args in (["config"], ["status"], ["models", "list"], ["token", "list"], ["config", "llm.api_key"]):
        code, out, err = busy.cli(*args)
        assert code == 0
        assert_clean(args, out + err)


def test_not_in_the_environment_that_others_can_read(busy):
    with open(f"/proc/{busy.pid}/environ", "rb") as file:
        assert_clean("/proc/environ", file.read().decode(errors="replace"))
    with open(f"/proc/{busy.pid}/cmdline", "rb") as file:
        assert_clean("/proc/cmdline", file.read().decode(errors="replace"))
    children = subprocess.run(["ps", "--ppid", str(busy.pid), "-o", "pid="], capture_output=True, text=True).stdout.split()
    for child in children:
        with open(f"/proc/{child}/environ", "rb") as file:
            assert_clean("a child's environment", file.read().decode(errors="replace"))


def test_not_in_the_files_of_the_home(busy):
    busy.api.post("/api/tokens", json={}).raise_for_status()
    for file in busy.home.rglob("*"):
        if file.is_file():
            assert_clean(file, file.read_bytes().decode(errors="replace"))


def test_a_provider_that_repeats_the_key_is_masked(engine, chat, model):
    model.set_script({"default": {"status": 401, "error": {"message": f"Incorrect API key provided: {API_KEY}. Header {EXTRA}"}}})
    with engine.events(thread_id=chat.thread) as events:
        chat.send("hello")
        events.until("turn_finished")
        assert_clean("the events", str([each.data for each in events.seen]))
    assert_clean("the history", json.dumps(chat.history()))
    for model_id in ("chela", "scripted"):
        answer = engine.api.post("/v1/chat/completions", json={"model": model_id, "messages": [{"role": "user", "content": "hi"}]})
        assert answer.status_code == 502
        assert_clean("/v1", answer.text)
    code, out, err = engine.cli("run", "-m", "hello")
    assert code == 4
    assert_clean("the command line", out + err)
    assert_clean("the log", engine.log_text())


def test_the_key_does_not_follow_a_redirect(engine, chat, model):
    model.set_script({"default": {"status": 307, "headers": {"Location": f"http://localhost:{model.port}/v1/chat/completions"}}})
    assert chat.say("hello")["state"] == "failed"
    assert len(model.requests()) == 1


def test_a_tokens_secret_is_stored_hashed(tmp_path, module_model):
    with Engine(tmp_path / "home", model_port=module_model.port) as other:
        token = other.api.post("/api/tokens", json={}).json()["token"]
        Chat(other).say("hello")
        secret = token.split("_", 2)[2]
        other.stop()
        for file in other.home.rglob("*"):
            if file.is_file():
                assert secret.encode() not in file.read_bytes(), file


def test_only_a_terminal_sees_the_link_that_logs_in(own_engine):
    own_engine.start()
    assert own_engine.token not in own_engine.log_text()
