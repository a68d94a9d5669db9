"""The engine dies before and after every record kind of a turn; after the restart the turn has the right outcome.

Needs a build with crash points: the presets dev and tsan (CHELA_BUILD)."""

import subprocess

import pytest
from crash.driver import check_log, needs_crash_points
from support.process import BUILD

# How often each kind comes in the scripted turn.
TURN = {"TurnStarted": 1, "ModelRequested": 3, "ModelAnswered": 3, "ToolRequested": 2, "ToolStarted": 4, "ToolFinished": 4,
        "Asked": 1, "Steered": 1, "Answered": 1, "TurnFinished": 1}
POINTS = [f"{kind}:{n}:{side}" for kind, count in TURN.items() for n in range(1, count + 1) for side in ("before", "after")]

pytestmark = needs_crash_points


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


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("kind", ["CredentialAsked", "CredentialAnswered"])
def test_a_credential(start, kind, side):
    client = start(f"{kind}:1:{side}")
    client.open_thread()
    client.send("please [secret]", key="message-1")
    client.wait_for("awaiting_auth")
    client.send("the-value-of-the-key", key="message-2")
    turn = client.wait_for("completed")
    assert client.crashes == 1
    assert turn["response"] == "all done" and "steered" not in turn
    records = check_log(client)
    assert [record["kind"] for record in records].count("CredentialAnswered") == 1
    assert "the-value" not in str(records)
    secrets = client.request("GET", "/api/vault").raise_for_status().json()["secrets"]
    assert [each["name"] for each in secrets] == ["some_key"]


COMMANDS = {"Undone": "/undo", "Redone": "/redo", "Cleared": "/clear"}


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_command_that_changes_the_thread(start, kind, side):
    client = start(f"{kind}:1:{side}")
    client.open_thread()
    for n in range(2):
        client.send(f"message {n}", key=f"message-{n}")
        client.wait_for("completed")
    if kind == "Redone":
        client.send("/undo", key="undo")
    answer = client.send(COMMANDS[kind], key="command")
    assert client.crashes == 1
    assert answer["reply"]
    # However it died, the command is done once.
    left = {"Undone": 1, "Redone": 2, "Cleared": 0}[kind]
    assert len(client.history()["turns"]) == left
    assert [record["kind"] for record in check_log(client)].count(kind) == 1
    client.send("and on", key="on")
    client.wait_for("completed")
    assert len(client.history()["turns"]) == left + 1
    check_log(client)


@pytest.mark.parametrize("point", ["Undone:1:before", "Undone:1:after", "TurnStarted:2:before", "TurnStarted:2:after"])
def test_a_retry(start, point):
    client = start(point)
    client.open_thread()
    client.send("hello", key="message-1")
    client.wait_for("completed")
    answer = client.request("POST", "/api/chat/retry", json={"thread_id": client.thread, "idempotency_key": "retry-1"})
    assert answer.status_code == 202, answer.text
    assert client.crashes == 1
    turn = client.wait_for("completed")
    assert turn["turn_id"] == answer.json()["turn_id"] and len(client.history()["turns"]) == 1
    kinds = [record["kind"] for record in check_log(client)]
    assert (kinds.count("Undone"), kinds.count("TurnStarted")) == (1, 2)


@pytest.mark.parametrize("point", ["Forked:1:before", "Forked:1:after", "TurnStarted:3:before", "TurnStarted:3:after"])
def test_an_edit(start, point):
    client = start(point)
    client.open_thread()
    for n in range(2):
        client.send(f"message {n}", key=f"message-{n}")
        client.wait_for("completed")
    body = {"thread_id": client.thread, "turn_number": 1, "content": "other words", "idempotency_key": "edit-1"}
    answer = client.request("POST", "/api/chat/edit", json=body)
    assert answer.status_code == 202, answer.text
    assert client.crashes == 1
    client.thread = answer.json()["thread_id"]
    assert client.wait_for("completed")["user_input"] == "other words"
    assert [turn["user_input"] for turn in client.history()["turns"]] == ["message 0", "other words"]
    active = client.request("GET", "/api/chat/threads").json()["active_thread"]
    assert active == client.thread
    check_log(client)


def test_the_release_binary_has_no_crash_points():
    release = BUILD.parent / "release" / "bin" / "chela"
    if not release.is_file():
        pytest.skip("no release build beside this one")
    found = subprocess.run(["grep", "-c", "CHELA_CRASH_AT", str(release)], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "0"
