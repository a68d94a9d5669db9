"""The vault: `chela secret`, /api/vault, secrets of the configuration, and where its key may show."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from support.process import DIE_WITH_US
from support.waiting import wait_until

VALUE = "ghp_0123456789abcdefTHEVALUE"
MASTER = "master-key-of-the-tests-0123456789abcdef"


@pytest.fixture(params=["engine runs", "no engine"])
def somewhere(request, own_engine):
    return own_engine.start() if request.param == "engine runs" else own_engine


def names(engine, **more):
    code, out, err = engine.cli("secret", "list", "--json", **more)
    assert code == 0, err
    return [each["name"] for each in json.loads(out)["secrets"]]


def test_set_list_and_delete(somewhere):
    assert somewhere.cli("secret", "list")[:2] == (0, "none\n")
    assert somewhere.cli("secret", "set", "github", stdin=VALUE + "\n") == (0, "github is stored\n", "")
    assert names(somewhere) == ["github"]
    assert (somewhere.home / "vault").stat().st_mode & 0o777 == 0o600
    assert (somewhere.home / "vault.key").stat().st_mode & 0o777 == 0o600
    assert VALUE.encode() not in (somewhere.home / "vault").read_bytes()
    assert somewhere.cli("secret", "delete", "github") == (0, "github is deleted\n", "")
    assert somewhere.cli("secret", "delete", "github")[0] == 5


@pytest.mark.parametrize("name, value, code", [("a/b", VALUE, 2), ("a", "", 2), ("a", "\n", 2), ("a", "x" * 65537, 2)])
def test_wrong_names_and_values_are_refused(own_engine, name, value, code):
    got, out, err = own_engine.cli("secret", "set", name, stdin=value)
    assert (got, out) == (code, "") and err.startswith("chela: ") and len(err) < 300
    assert names(own_engine) == []


def test_values_go_in_over_http_and_never_out(engine):
    assert engine.api.put("/api/vault/github", json={"value": VALUE}).json() == {"name": "github", "status": "stored"}
    listed = engine.api.get("/api/vault")
    assert [each["name"] for each in listed.json()["secrets"]] == ["github"] and VALUE not in listed.text
    assert engine.api.put("/api/vault/a%2Fb", json={"value": VALUE}).status_code == 400
    assert engine.api.get("/api/vault/github").status_code == 405
    token = engine.api.post("/api/tokens", json={"permissions": ["chat:*"]}).json()["token"]
    with engine.client(token) as client:
        assert client.get("/api/vault").status_code == 403
        assert client.put("/api/vault/x", json={"value": VALUE}).status_code == 403
        assert client.delete("/api/vault/github").status_code == 403
    assert engine.api.delete("/api/vault/github").status_code == 200
    assert VALUE not in engine.log_text()


def test_the_configuration_takes_its_key_from_the_vault(own_engine, model):
    del own_engine.env["LLM_API_KEY"]
    (own_engine.home / "config.toml").write_text("[llm]\napi_key = 'secret:provider'\n")
    code, _, err = own_engine.cli("run", "-m", "hello")
    assert code == 5 and "config.toml:2" in err and "chela secret set" in err
    assert own_engine.cli("secret", "set", "provider", stdin=VALUE)[0] == 0
    assert own_engine.cli("run", "-m", "hello")[0] == 0
    headers = {name.lower(): value for name, value in model.requests()[-1]["headers"].items()}
    assert headers["authorization"] == f"Bearer {VALUE}"
    code, out, _ = own_engine.cli("config", "llm.api_key")
    assert code == 0 and "secret:provider" in out and VALUE not in out


def test_the_master_key_comes_from_the_environment_and_goes(own_engine):
    own_engine.env["SECRETS_MASTER_KEY"] = MASTER
    own_engine.start()
    assert own_engine.cli("secret", "set", "github", stdin=VALUE)[0] == 0
    assert not (own_engine.home / "vault.key").exists()
    environ = Path(f"/proc/{own_engine.pid}/environ").read_bytes()
    assert b"CHELA_HOME=" in environ and MASTER.encode() not in environ
    assert names(own_engine, env={"SECRETS_MASTER_KEY": ""}) == ["github"]  # the engine has it
    assert own_engine.stop() == 0
    code, _, err = own_engine.cli("secret", "list", env={"SECRETS_MASTER_KEY": ""})
    assert code == 5 and "SECRETS_MASTER_KEY" in err
    before = (own_engine.home / "vault").read_bytes()
    wrong = {"SECRETS_MASTER_KEY": "x" * 32}
    assert own_engine.cli("secret", "set", "github", stdin="other", env=wrong)[0] == 4
    assert own_engine.cli("secret", "list", env={"SECRETS_MASTER_KEY": "short"})[0] == 2
    assert (own_engine.home / "vault").read_bytes() == before
    assert MASTER not in own_engine.log_text() and VALUE not in own_engine.log_text()


def test_an_engine_starts_with_a_damaged_vault_and_says_so(own_engine):
    own_engine.home.mkdir(exist_ok=True)
    (own_engine.home / "vault").write_bytes(b"garbage")
    own_engine.start()
    assert "the vault cannot be used" in own_engine.log_text()
    answer = own_engine.api.put("/api/vault/github", json={"value": VALUE})
    assert answer.status_code == 400 and "damaged" in answer.json()["error"]["message"]
    assert (own_engine.home / "vault").read_bytes() == b"garbage"
    assert own_engine.api.post("/api/chat/send", json={"content": "hello"}).status_code == 202


def test_what_is_typed_on_a_terminal_is_not_shown(own_engine):
    control, terminal = pty.openpty()
    try:
        child = subprocess.Popen([*DIE_WITH_US, own_engine.program, "secret", "set", "github"], env=own_engine.environment(),
                                 stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        shown = b""

        def prompted():
            nonlocal shown
            shown += os.read(control, 4096)
            return b"github: " in shown
        wait_until(prompted, "the prompt")
        os.write(control, VALUE.encode() + b"\n")

        def stored():
            nonlocal shown
            shown += os.read(control, 4096)
            return b"is stored" in shown
        wait_until(stored, "the answer")
        assert child.wait(30) == 0
        assert VALUE.encode() not in shown
    finally:
        os.close(control)
    assert names(own_engine) == ["github"]
