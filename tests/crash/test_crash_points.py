"""The engine dies before and after every record kind of a turn; after the restart the turn has the right outcome.

Needs a build with crash points: the presets dev and tsan (CHELA_BUILD)."""

import subprocess

import pytest
from crash.driver import SCRIPT, Client, check_log
from support import Engine
from support.process import BUILD

# How often each kind comes in the scripted turn.
TURN = {"TurnStarted": 1, "ModelRequested": 3, "ModelAnswered": 3, "ToolRequested": 2, "ToolStarted": 4, "ToolFinished": 4,
        "Asked": 1, "Steered": 1, "Answered": 1, "TurnFinished": 1}
POINTS = [f"{kind}:{n}:{side}" for kind, count in TURN.items() for n in range(1, count + 1) for side in ("before", "after")]


def has_crash_points():
    cache = BUILD / "CMakeCache.txt"
    return cache.is_file() and "CHELA_CRASH_POINTS:BOOL=ON" in cache.read_text()


pytestmark = pytest.mark.skipif(not has_crash_points(), reason="this build has no crash points; use ./dev check crash")


@pytest.fixture
def start(tmp_path, model):
    model.set_script(SCRIPT)
    engines = []

    def begin(point=None, **env):
        engine = Engine(tmp_path / "home", env=env | ({"CHELA_CRASH_AT": point} if point else {}), model_port=model.port)
        engines.append(engine)
        engine.start()
        return Client(engine)

    yield begin
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("point", POINTS)
def test_a_turn_with_tools_and_an_approval(start, point):
    client = start(point)
    client.open_thread()
    client.send("please [go]", key="message-1")
    first = client.wait_for("awaiting_approval", "completed", "failed")
    if first["state"] == "awaiting_approval":
        client.send("and hurry", key="message-2")
    turn = client.approve_when_asked()

    assert client.crashes == 1, f"{point} was never reached"
    assert turn["state"] == "completed"
    assert turn["response"] == "all done"
    history = client.history()
    assert len(history["turns"]) == 1
    assert history["turns"][0]["steered"] == ["and hurry"]
    assert client.ticks() <= 1
    records = check_log(client)
    results = {record["body"]["id"]: record["body"] for record in records if record["kind"] == "ToolFinished"}
    assert set(results) == {"tick", "one", "file", "two"}
    ran = results["tick"]["ending"] == "ran"
    assert client.ticks() == 1 if ran else "interrupted" in results["tick"]["text"]


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_failing_turn(start, side):
    client = start(f"TurnFailed:1:{side}")
    client.open_thread()
    client.send("please [fail]", key="message-1")
    turn = client.wait_for("failed", "completed")
    assert client.crashes == 1
    assert turn["state"] == "failed" and turn["error"]
    assert len(client.history()["turns"]) == 1
    check_log(client)


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_interrupt(start, side):
    client = start(f"Interrupted:1:{side}")
    client.open_thread()
    client.send("please [go]", key="message-1")
    client.wait_for("awaiting_approval")
    # 409: the interrupt was on disk when the engine died.
    answer = client.request("POST", "/api/chat/interrupt", json={"thread_id": client.thread})
    assert answer.status_code in (200, 202, 204, 409), answer.text
    turn = client.wait_for("interrupted")
    assert turn["state"] == "interrupted"
    assert client.crashes == 1
    check_log(client)
    client.send("hello", key="message-2")
    assert client.wait_for("completed")["response"] == "all done"


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_compaction(start, side):
    client = start(f"Compacted:1:{side}", CHELA_AGENT_CONTEXT_TOKENS="2000")
    client.open_thread()
    for n in range(8):
        client.send(f"tell me a [long] story {n}", key=f"message-{n}")
        assert client.wait_for("completed", "failed")["state"] == "completed"
    assert client.crashes == 1
    assert len(client.history()["turns"]) == 8
    check_log(client)


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_fork(start, side):
    client = start(f"Forked:1:{side}")
    client.open_thread()
    client.send("hello", key="message-1")
    client.wait_for("completed")
    at = client.records()[-1]["seq"]
    answer = client.request("POST", f"/api/threads/{client.thread}/fork", json={"at": at})
    assert answer.status_code in (200, 201), answer.text
    assert client.crashes == 1
    client.thread = answer.json()["id"]
    client.send("again", key="message-2")
    assert client.wait_for("completed")["response"] == "all done"
    assert len(client.history()["turns"]) == 2


def test_the_release_binary_has_no_crash_points():
    release = BUILD.parent / "release" / "bin" / "chela"
    if not release.is_file():
        pytest.skip("no release build beside this one")
    found = subprocess.run(["grep", "-c", "CHELA_CRASH_AT", str(release)], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "0"
