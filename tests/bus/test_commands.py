"""The commands that talk to a bus: chela call, functions, triggers, workers, worker token; with an engine and with the bus alone."""

import json
import subprocess

import httpx
import pytest
from peer import Peer
from support.process import BUILD, clean_environment
from support.waiting import DEADLINE, wait_until

CONFIG = """
port: 0
modules:
  - class: modules::pubsub::PubSubModule
  - class: modules::queue::QueueModule
    config: { queue_configs: { once: { max_retries: 1 } } }
"""


@pytest.fixture
def alone(bus_engine, tmp_path):
    """A bus alone with one worker, and what runs commands against it."""
    engine = bus_engine(CONFIG).start()
    url = f"ws://127.0.0.1:{engine.ports['bus']}"
    peer = Peer(url, {"greet::hello": lambda data: {"text": f"hello {data.get('name')}"},
                      "greet::fail": lambda data: 1 / 0}, "greeter")
    peer.send(type="registertrigger", id="t-1", trigger_type="subscribe", function_id="greet::hello", config={"topic": "people"})
    peer.wait_for("greet::fail")

    def chela(*args, env=None):
        done = subprocess.run([BUILD / "bin" / "chela", *args], capture_output=True, text=True, timeout=DEADLINE,
                              env=clean_environment(HOME=tmp_path, CHELA_HOME=tmp_path / "home", **({"III_URL": url} | (env or {}))))
        return done.returncode, done.stdout, done.stderr

    yield chela
    peer.close()


def test_a_function_is_called(alone):
    assert alone("call", "greet::hello", '{"name": "ann"}') == (0, '{"text":"hello ann"}\n', "")
    code, out, err = alone("call", "greet::fail")
    assert (code, out) == (8, "") and "invocation_failed" in err and "division by zero" in err
    code, _, err = alone("call", "nobody::here")
    assert code == 5 and "nobody::here" in err
    assert alone("call", "publish", '{"topic": "people", "data": {}}')[0] == 0


def test_functions_triggers_and_workers_are_listed(alone):
    code, out, _ = alone("functions", "--search", "greet")
    assert code == 0 and out.splitlines()[0].split() == ["FUNCTION", "WORKER", "DESCRIPTION"]
    assert "greet::hello" in out and "greeter" in out and "engine::" not in out
    assert "engine::functions::list" in alone("functions", "--all")[1]
    rows = json.loads(alone("functions", "--json")[1])["functions"]
    assert {"greet::hello", "greet::fail", "publish"} <= {row["function_id"] for row in rows}
    code, out, _ = alone("triggers")
    assert code == 0 and "t-1" in out and "subscribe" in out and '{"topic": "people"}' in out
    code, out, _ = alone("workers")
    assert code == 0 and "greeter" in out and len(out.splitlines()) == 2, "the command itself is no worker"


def rows(chela, *command):
    code, out, err = chela("queue", *command, "--json")
    assert code == 0, err
    return json.loads(out)


def enqueue(chela, function, **data):
    message = json.dumps({"queue": "once", "function_id": function, "data": data})
    return json.loads(chela("call", "engine::queue::enqueue", message, "--json")[1])["messageReceiptId"]


def test_queues_are_looked_at_and_their_dead_put_back_or_forgotten(alone):
    """The commands `chela queue ...` on queues that work meanwhile."""
    enqueue(alone, "greet::hello", name="ann")
    ids = [enqueue(alone, "greet::fail", n=n) for n in range(3)]
    wait_until(lambda: rows(alone, "stats", "once")["dlq_depth"] == 3, "they are dead")
    assert {"default", "once"} <= {row["name"] for row in rows(alone, "list")}
    code, out, _ = alone("queue", "list")
    assert code == 0 and out.splitlines()[0].split() == ["QUEUE", "KIND", "SUBSCRIBERS"]
    assert ["once", "queue", "1"] in [line.split() for line in out.splitlines()]
    code, out, _ = alone("queue", "stats", "once")
    assert code == 0 and "dlq_depth" in out
    code, out, _ = alone("queue", "dead")
    assert code == 0 and [line.split() for line in out.splitlines()] == [["QUEUE", "KIND", "MESSAGES"], ["once", "queue", "3"]]
    code, out, _ = alone("queue", "messages", "once")
    assert code == 0 and out.splitlines()[0].split() == ["ID", "TRIES", "ERROR", "PAYLOAD"]
    assert all(each in out for each in ids) and "division by zero" in out and '{"n":1}' in out.replace(" ", "")
    assert [row["id"] for row in rows(alone, "messages", "once", "--limit", "2")] == ids[:2]

    assert rows(alone, "redrive", "once", ids[1])["redriven"] == 1
    assert rows(alone, "redrive", "once")["redriven"] >= 2
    wait_until(lambda: rows(alone, "stats", "once")["dlq_depth"] == 3, "they fail again")
    assert alone("queue", "discard", "once", ids[0])[0] == 0
    assert {row["id"] for row in rows(alone, "messages", "once")} == set(ids[1:])

    code, _, err = alone("queue", "discard", "once", ids[0])
    assert code != 0 and "no dead message" in err
    for lacking in (["stats"], ["messages"], ["redrive"], ["discard", "once"], []):
        assert alone("queue", *lacking)[0] == 2


def test_queues_of_a_running_engine_are_those_of_its_home(engine):
    assert engine.cli("queue", "list")[0] == 0
    code, out, err = engine.cli("queue", "stats", "default", "--json")
    assert code == 0 and json.loads(out)["depth"] == 0, err


def test_nobody_there_is_said(alone):
    for command in (["functions"], ["call", "nobody::here"]):
        code, _, err = alone(*command, env={"III_URL": "ws://127.0.0.1:1"})
        assert code == 5 and "--url" in err
    code, _, err = alone("workers", "--url", "nonsense")
    assert code == 2 and "no address" in err


def test_with_an_engine_the_home_is_enough(engine):
    code, out, err = engine.cli("functions", "--search", "chat::send", "--json")
    assert code == 0, err
    assert [row["function_id"] for row in json.loads(out)["functions"]] == ["chat::send"]
    code, out, _ = engine.cli("call", "engine::workers::list")
    assert code == 0 and "workers" in json.loads(out)
    code, _, err = engine.cli("workers", "--token", "wrong")
    assert code == 4, err


def test_a_token_for_a_worker_lets_it_work_and_nothing_else(engine, join):
    code, out, _ = engine.cli("worker", "token", "--label", "mine")
    assert code == 0
    token = out.strip()
    worker = join(token=token)
    worker.register("token::echo")
    assert worker.call("token::echo", {"n": 1})["data"]["n"] == 1
    assert engine.api.get("/api/chat/threads", headers={"Authorization": f"Bearer {token}"}).status_code == 403
    code, out, _ = engine.cli("token", "list", "--json")
    row = next(row for row in json.loads(out)["tokens"] if row["label"] == "mine")
    assert set(row["permissions"]) == {"bus:call", "bus:register"}


def test_a_call_over_http_must_say_that_it_is_json(engine):
    url = f"http://127.0.0.1:{engine.engine_file()['ports']['bus']}/call"
    own = {"Authorization": f"Bearer {engine.token}"}
    body = json.dumps({"function_id": "engine::workers::list", "data": {}})
    assert httpx.post(url, content=body, headers={**own, "Content-Type": "text/plain"}).status_code == 400
    assert httpx.post(url, content=body, headers={"Content-Type": "application/json"}).status_code == 401
    answer = httpx.post(url, content=body, headers={**own, "Content-Type": "application/json"})
    assert answer.status_code == 200 and "workers" in answer.json()["result"]
    assert httpx.get(url, headers=own).status_code == 400
    missing = httpx.post(url, json={"function_id": "nobody::here"}, headers=own)
    assert missing.status_code == 404 and missing.json()["error"]["code"] == "function_not_found"
    assert httpx.post(url, json={"data": {}}, headers=own).status_code == 400
    assert httpx.post(url, json={"function_id": "f", "action": {"type": "void"}}, headers=own).status_code == 400


def test_names_of_queues_are_completed(bus_engine, tmp_path):
    engine = bus_engine("port: 0\nmodules: [{class: 'modules::queue::QueueModule', config: {queue_configs: {payment: {}, parcels: {}}}}]").start()
    done = subprocess.run([BUILD / "bin" / "chela", "__complete", "queue", "stats", "pa"], capture_output=True, text=True, timeout=DEADLINE,
                          env=clean_environment(HOME=tmp_path, CHELA_HOME=tmp_path / "home", III_URL=f"ws://127.0.0.1:{engine.ports['bus']}"))
    assert done.stdout.splitlines() == ["parcels\tqueue", "payment\tqueue"], done.stderr
