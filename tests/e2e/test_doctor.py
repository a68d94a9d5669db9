"""`chela doctor` and `chela status`: what they say, and that every failure is found."""

import json
import os
import shutil
import socket
import subprocess
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from support.process import BUILD


def findings(engine, *args, env=None):
    code, out, err = engine.cli("doctor", "--json", *args, env=env)
    assert err == ""
    report = json.loads(out)
    assert code == (1 if report["failed"] else 0)
    assert all(each.get("next_step") for each in report["checks"] if each["verdict"] in ("warn", "fail"))
    return {each["name"]: each for each in report["checks"]}


def fails(engine, name, *words, args=(), env=None):
    found = findings(engine, *args, env=env)[name]
    assert found["verdict"] == "fail", found
    for word in words:
        assert word in found["message"] + found.get("next_step", ""), found


def test_a_new_home_is_well_and_stays_untouched(own_engine):
    before = sorted(own_engine.home.iterdir())
    found = findings(own_engine)
    assert {each["verdict"] for each in found.values()} <= {"pass", "skip", "warn"}, found
    assert found["provider"]["verdict"] == "pass" and found["database"]["verdict"] == "skip"
    assert sorted(own_engine.home.iterdir()) == before


def test_a_running_engine_is_well(own_engine):
    own_engine.start()
    own_engine.api.post("/api/chat/send", json={"content": "hello"})
    found = findings(own_engine)
    assert found["engine"]["verdict"] == "pass" and str(own_engine.pid) in found["engine"]["message"]
    assert found["database"]["verdict"] == "pass" and "gateway port" not in found
    code, out, _ = own_engine.cli("doctor")
    assert code == 0 and "[pass] engine: " in out and out.splitlines()[-1].endswith("left out")


def test_a_configuration_that_cannot_be_read(own_engine):
    readable = findings(own_engine)
    (own_engine.home / "config.toml").write_text("[gateway]\nprot = 1\n")
    fails(own_engine, "configuration", "config.toml:2", "gateway.port")
    found = findings(own_engine)
    assert {name for name, each in found.items() if each["verdict"] == "skip"} >= {"vault", "open files", "model"}
    assert {name for name in found if "port" in name} == {name for name in readable if "port" in name}
    assert own_engine.cli("status")[0] == 0


def test_a_secret_that_is_missing(own_engine):
    del own_engine.env["LLM_API_KEY"]
    (own_engine.home / "config.toml").write_text("[llm]\napi_key = 'secret:mine'\n")
    fails(own_engine, "configuration", "secret:mine", "chela secret set")


def test_a_provider_that_refuses_the_key(own_engine):
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"error": {"message": "Incorrect API key provided"}}'
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        fails(own_engine, "provider", "key", "chela onboard", env={"LLM_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"})
        server.shutdown()


def test_a_provider_that_is_not_there(own_engine):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    fails(own_engine, "provider", f"127.0.0.1:{port}", env={"LLM_BASE_URL": f"http://127.0.0.1:{port}/v1"})


def test_a_model_that_is_not_on_this_machine(own_engine):
    for name in ("LLM_BACKEND", "LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"):
        own_engine.env.pop(name)
    fails(own_engine, "model files", "local/small", "chela models pull")


def test_a_port_that_is_taken(own_engine):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for part in ("gateway", "bus"):
            fails(own_engine, f"{part} port", port, f"{part}.port", env={f"CHELA_{part.upper()}_PORT": port})


def test_a_damaged_database(own_engine):
    own_engine.start()
    own_engine.api.post("/api/chat/send", json={"content": "hello"})
    assert own_engine.stop() == 0
    file = own_engine.home / "chela.db"
    size = file.stat().st_size
    with open(file, "r+b") as database:
        database.seek(4096)
        database.write(os.urandom(size - 4096))
    fails(own_engine, "database", "chela.db", "backup")


def test_a_vault_without_its_key(own_engine):
    assert own_engine.cli("secret", "set", "mine", stdin="a-value-to-keep")[0] == 0
    assert findings(own_engine)["vault"]["verdict"] == "pass"
    (own_engine.home / "vault.key").unlink()
    fails(own_engine, "vault", "SECRETS_MASTER_KEY")


def test_a_home_that_cannot_be(own_engine):
    fails(own_engine, "home", "/proc/chela", args=("--home", "/proc/chela"))


def test_a_clock_that_is_behind(own_engine):
    file = own_engine.home / "config.toml"
    file.write_text("")
    later = time.time() + 10 * 86400
    os.utime(file, (later, later))
    fails(own_engine, "clock", "config.toml")


def test_an_installation_that_lacks_its_parts(own_engine, tmp_path):
    alone = tmp_path / "bin"
    alone.mkdir()
    shutil.copy(BUILD / "bin" / "chela", alone)
    done = subprocess.run([alone / "chela", "doctor", "--json"], env=own_engine.environment(), capture_output=True, text=True, timeout=120)
    found = {each["name"]: each["verdict"] for each in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1 and found["chela-guard"] == found["chela-infer"] == found["data"] == "fail"


def test_an_engine_that_died_or_hangs(own_engine):
    own_engine.start()
    os.kill(own_engine.pid, 19)  # SIGSTOP
    try:
        fails(own_engine, "engine", str(own_engine.pid))
    finally:
        os.kill(own_engine.pid, 18)
    own_engine.kill9()
    assert findings(own_engine)["engine"]["verdict"] == "warn"


def test_status_says_what_runs(own_engine):
    code, out, _ = own_engine.cli("status")
    assert code == 0 and "not running" in out and str(own_engine.home) in out and "config.toml" in out
    assert json.loads(own_engine.cli("status", "--json")[1])["running"] is False
    own_engine.start()
    own_engine.api.post("/api/chat/send", json={"content": "hello"})
    status = json.loads(own_engine.cli("status", "--json")[1])
    assert (status["running"], status["pid"], status["model"]) == (True, own_engine.pid, "scripted")
    assert status["ports"]["gateway"] == own_engine.port and status["memory_bytes"] > 1 << 20
    assert status["threads"] == 1 and status["connections"] >= 1 and status["uptime_secs"] >= 0
    assert str(own_engine.pid) in own_engine.cli("status")[1]
