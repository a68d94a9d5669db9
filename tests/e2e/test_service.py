"""What a machine asks of the engine: health, metrics, its own description, files, shutting down."""

import json
import re
import stat

import httpx
import pytest

from support import Chat, wait_until
from support.scripts import HANG

PUBLIC = {"/api/health": {"status": "healthy", "channel": "gateway"}, "/healthz": {"status": "ok"}, "/readyz": {"status": "ready"}}


def test_health_needs_no_token(engine):
    with engine.client(token="") as client:
        for path, body in PUBLIC.items():
            answer = client.get(path)
            assert (answer.status_code, answer.json()) == (200, body)
        page = client.get("/")
        assert page.status_code == 200 and "Chela" in page.text and page.headers["content-type"].startswith("text/html")


def test_every_answer_has_the_security_headers(engine):
    with engine.client(token="") as client:
        for path in ("/", "/healthz", "/nowhere", "/api/chat/history", "/v1/models"):
            headers = client.get(path).headers
            assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", ["/nowhere", "/api/nowhere", "/v1/nowhere", "/api/chat/send/"])
def test_what_is_not_there_is_404(engine, path):
    answer = engine.api.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["message"]


def test_a_wrong_method_is_405(engine):
    answer = engine.api.get("/api/chat/send")
    assert answer.status_code == 405 and answer.headers["allow"] == "POST"
    assert engine.api.delete("/metrics").status_code == 405


def test_head_is_get_without_a_body(engine):
    answer = engine.api.head("/healthz")
    assert answer.status_code == 200 and answer.content == b""


def test_metrics_count_what_happens(engine, chat):
    def value(name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", engine.api.get("/metrics").text, re.M)
        return float(found.group(1)) if found else 0.0

    finished, sent = 'chela_turns_total{state="completed"}', 'chela_http_requests_total{operation="chat::send",status="202"}'
    before = value(finished), value(sent)
    chat.say("hello")
    assert (value(finished), value(sent)) == (before[0] + 1, before[1] + 1)
    text = engine.api.get("/metrics").text
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|[a-z_]+(\{([a-z_]+=\"[^\"]*\",?)*\})? [-+.eE\dInfNa]+", line), line


def test_unknown_paths_make_no_new_series(engine):
    for n in range(20):
        engine.api.get(f"/nowhere/{n}")
    assert "nowhere" not in engine.api.get("/metrics").text


def test_the_openapi_document_describes_the_routes(engine):
    document = engine.api.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {"/api/chat/send", "/api/chat/events", "/api/chat/approval", "/api/chat/history", "/api/memory/search",
            "/v1/chat/completions", "/v1/models", "/healthz"} <= document["paths"].keys()
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    send = document["paths"]["/api/chat/send"]["post"]
    assert send["requestBody"]["content"]["application/json"]["schema"]["required"] == ["content"]
    assert "202" in send["responses"]


def test_every_described_get_route_wants_a_token_or_is_public(engine):
    document = engine.api.get("/openapi.json").json()
    with engine.client(token="") as client:
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                status = client.request(method, path.replace("{id}", "x"), json={} if method == "post" else None).status_code
                assert (status == 401) == (operation.get("security") != []), f"{method} {path}: {status}"


def test_files_of_the_home_are_private(engine):
    for name in ("run/engine.json", "gateway.token", "run/chela.sock", "chela.db", "logs/chela.log"):
        file = engine.home / name
        modes = [stat.S_IMODE(each.stat().st_mode) for each in (file, file.parent)]
        assert not all(mode & 0o077 for mode in modes), f"{name} can be read by others: {modes}"
    assert stat.S_IMODE((engine.home / "run").stat().st_mode) == 0o700


def test_engine_json_says_who_runs(engine):
    found = engine.engine_file()
    assert found["pid"] == engine.pid and found["ports"]["gateway"] == engine.port
    assert found["version"] and found["started_at"].endswith("Z")
    assert found["socket"] == str(engine.home / "run/chela.sock")
    status = engine.api.get("/api/gateway/status").json()
    assert (status["pid"], status["model"], status["ports"]) == (engine.pid, "scripted", found["ports"])


def test_it_leaves_in_order(own_engine, model):
    model.set_script({"default": HANG})
    own_engine.start()
    chat = Chat(own_engine)
    with own_engine.events(thread_id=chat.thread) as events:
        chat.send("hang please")
        events.until("stream_chunk")
        assert own_engine.stop() == 0
        while events.next() is not None:
            pass
    assert not (own_engine.home / "run/engine.json").exists()
    # The turn was open when it left: it is taken up again.
    model.set_script({})
    own_engine.start()
    assert chat.wait_for_state("completed")["response"].endswith("hang please")


def test_the_unix_socket_belongs_to_the_owner(engine):
    transport = httpx.HTTPTransport(uds=str(engine.home / "run/chela.sock"))
    with httpx.Client(transport=transport, base_url="http://chela") as client:
        assert client.get("/api/chat/threads").status_code == 200


def test_the_log_is_json_lines(engine, chat):
    chat.say("hello")
    wait_until(lambda: (engine.home / "logs/chela.log").read_text().strip(), "the log has lines")
    for line in (engine.home / "logs/chela.log").read_text().splitlines():
        entry = json.loads(line)
        assert {"ts", "level", "target", "msg"} <= entry.keys()


def test_pages_of_other_origins_get_no_cors(engine):
    own = f"http://127.0.0.1:{engine.port}"
    assert engine.api.get("/healthz", headers={"Origin": own}).headers["access-control-allow-origin"] == own
    assert "access-control-allow-origin" not in engine.api.get("/healthz", headers={"Origin": "https://evil.example"}).headers
    preflight = engine.api.options("/api/chat/send", headers={"Origin": own, "Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 204 and "POST" in preflight.headers["access-control-allow-methods"]
