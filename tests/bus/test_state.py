"""Modules state and kv: what workers of every SDK may do with them, that each user has values of their own, and that files keep them."""

import pytest
from workers import SDKS

from support import Engine
from support.limits import limit
from support.waiting import wait_until

CONFIG = """
port: 0
modules:
  - class: modules::state::StateModule
    config:
      adapter:
        class: modules::state::adapters::KvStore
        config: { store_method: METHOD, file_path: ./data/state_store.db, save_interval_ms: 5000 }
  - class: modules::kv_server::KvServer
    config: { store_method: METHOD, file_path: data, save_interval_ms: 100 }
"""
IN_MEMORY = CONFIG.replace("METHOD", "in_memory")
FILE_BASED = CONFIG.replace("METHOD", "file_based")


@pytest.fixture(params=["run", "engine"])
def port(request, engine, bus_engine):
    """The bus of `chela run`, and that of `chela engine`."""
    return engine.engine_file()["ports"]["bus"] if request.param == "run" else bus_engine(IN_MEMORY).start().ports["bus"]


@pytest.mark.parametrize("sdk", SDKS)
def test_values_of_a_scope(join, port, sdk):
    worker, scope = join(sdk, port), f"scope-{sdk}"
    data = {"name": "größe", "value": 42, "list": [1, None, {"deep": []}]}
    assert worker.call("state::get", {"scope": scope, "key": "k"}) is None
    assert worker.call("state::set", {"scope": scope, "key": "k", "value": data}) == {"old_value": None, "new_value": data}
    assert worker.call("state::set", {"scope": scope, "key": "k", "value": 7}) == {"old_value": data, "new_value": 7}
    assert worker.call("state::get", {"scope": scope, "key": "k"}) == 7
    worker.call("state::set", {"scope": scope, "key": "j", "value": [3]})
    assert worker.call("state::list", {"scope": scope}) == [7, [3]]
    assert scope in worker.call("state::list_groups")["groups"]
    for key in ("k", "j", "none"):
        worker.call("state::delete", {"scope": scope, "key": key})
    assert worker.call("state::list", {"scope": scope}) == []
    assert scope not in worker.call("state::list_groups")["groups"]


@pytest.mark.parametrize("sdk", SDKS)
def test_updates(join, port, sdk):
    worker, item = join(sdk, port), {"scope": "updates", "key": sdk}
    worker.call("state::set", {**item, "value": {"count": 0, "name": "initial", "events": [], "text": "hello"}})
    ops = [{"type": "set", "path": "name", "value": "later"}, {"type": "increment", "path": "count", "by": 5}, {"type": "decrement", "path": "count", "by": 2},
           {"type": "append", "path": "events", "value": {"kind": "chunk"}}, {"type": "append", "path": "text", "value": " world"},
           {"type": "merge", "path": ["sessions", "a.b"], "value": {"author": "alice"}}, {"type": "increment", "path": "name", "by": 1},
           {"type": "remove", "path": "none"}]
    answer = worker.call("state::update", {**item, "ops": ops})
    assert answer["new_value"] == {"count": 3, "name": "later", "events": [{"kind": "chunk"}], "text": "hello world",
                                   "sessions": {"a.b": {"author": "alice"}}}
    assert answer["old_value"]["name"] == "initial"
    assert [(error["op_index"], error["code"]) for error in answer["errors"]] == [(6, "increment.not_number")]
    assert worker.call("state::get", item) == answer["new_value"]


@pytest.mark.parametrize("sdk", SDKS)
def test_triggers(join, port, sdk):
    worker, other = join(sdk, port), join("0.22.1", port)
    worker.register(f"on::{sdk}")
    worker.do("trigger", key="t", type="state", function_id=f"on::{sdk}", config={"scope": f"watched-{sdk}"})
    wait_until(lambda: any(row["function_id"] == f"on::{sdk}" for row in other.call("engine::registered-triggers::list")["registered_triggers"]),
               "the trigger is registered")
    item = {"scope": f"watched-{sdk}", "key": "k"}
    other.call("state::set", {**item, "value": 1})
    other.call("state::set", {**item, "value": {"n": 2}})
    other.call("state::set", {"scope": "another", "key": "k", "value": 1})
    other.call("state::delete", item)
    wait_until(lambda: len(worker.do("seen", function_id=f"on::{sdk}")) == 3, "all events arrive")
    event = {"type": "state", **item}
    assert worker.do("seen", function_id=f"on::{sdk}") == [
        {**event, "event_type": "state:created", "old_value": None, "new_value": 1},
        {**event, "event_type": "state:updated", "old_value": 1, "new_value": {"n": 2}},
        {**event, "event_type": "state:deleted", "old_value": {"n": 2}, "new_value": None}]


def test_the_key_value_store_of_early_sdks(join, port):
    worker = join("0.3.0", port)
    for n in range(3):
        worker.call("kv_server::set", {"index": "i", "key": f"item_{n}", "value": {"id": n}})
    assert worker.call("kv_server::get", {"index": "i", "key": "item_1"}) == {"id": 1}
    assert worker.call("kv_server::list", {"index": "i"}) == [{"id": 0}, {"id": 1}, {"id": 2}]
    worker.call("kv_server::update", {"index": "i", "key": "item_1", "ops": [{"type": "increment", "path": "id", "by": 9}]})
    assert worker.call("kv_server::delete", {"index": "i", "key": "item_1"}) == {"old_value": {"id": 10}}
    assert worker.call("kv_server::get", {"index": "i", "key": "item_1"}) is None
    assert worker.call("kv_server::list_keys_with_prefix", {"prefix": "i"}) == ["i"]


def test_each_user_has_values_of_their_own(tmp_path, join):
    """Alice owned the engine, and left a token when Bob took it over."""
    item = {"scope": "private", "key": "k"}
    with Engine(tmp_path / "home", env={"GATEWAY_USER_ID": "alice"}) as first:
        token = first.api.post("/api/tokens", json={"permissions": ["bus:*"]}).json()["token"]
    with Engine(tmp_path / "home", env={"GATEWAY_USER_ID": "bob"}) as engine:
        port = engine.engine_file()["ports"]["bus"]
        alice, bob = join(port=port, token=token), join(port=port, token=engine.token)
        alice.call("state::set", {**item, "value": "alice's"})
        assert bob.call("state::get", item) is None
        assert bob.call("state::list_groups") == {"groups": []}
        bob.call("state::set", {**item, "value": "bob's"})
        assert alice.call("state::get", item) == "alice's"


def test_what_was_answered_survives_a_kill(bus_engine, join):
    """Many changes are under way when the engine is killed: every one that was answered is there, and the later ones of each key win."""
    engine = bus_engine(FILE_BASED).start()
    for part in range(3):
        worker = join(port=engine.ports["bus"], token="")
        waiting = [(key, n, worker.start("call", function_id="state::set", payload={"scope": f"s{part}", "key": f"k{key}", "value": {"n": n}}))
                   for n in range(40) for key in range(10)]
        worker.call("kv_server::set", {"index": "i", "key": f"k{part}", "value": part})
        for key, n, answer in waiting[:300]:
            assert answer()["new_value"] == {"n": n}
        engine.kill9()
        worker.kill()
        engine.start()
        reader = join(port=engine.ports["bus"], token="")
        for key in range(10):
            assert reader.call("state::get", {"scope": f"s{part}", "key": f"k{key}"})["n"] >= 29
        assert len(reader.call("state::list", {"scope": f"s{part}"})) == 10
        assert reader.call("kv_server::list", {"index": "i"}) == list(range(part + 1))
    assert engine.stop() == 0


def test_files_have_one_engine(bus_engine):
    engine = bus_engine(FILE_BASED).start()
    second = bus_engine(FILE_BASED.replace("./data", str(engine.folder / "data")))
    code, said = second.fails()
    assert code == 6 and "state_store.db" in said and f"in use by process {engine.process.pid}" in said, said


@pytest.mark.parametrize("config, words", [
    ("adapter: { class: modules::state::adapters::RedisAdapter }", ["RedisAdapter", "not supported", "KvStore"]),
    ("adapter: { name: kv, config: { store_method: on_paper } }", ["store_method", "in_memory, file_based"]),
    ("adapter: { name: kv, config: { path: x } }", ["unknown key 'path'"]),
    ("max_value_bytes: 0", ["max_value_bytes"]),
    ("scope: 1", ["unknown key 'scope'"]),
])
def test_mistakes_in_the_configuration(bus_engine, config, words):
    code, said = bus_engine(f"port: 0\nmodules: [{{class: modules::state::StateModule, config: {{ {config} }}}}]").fails()
    assert code == 2 and all(word in said for word in words), said


@pytest.mark.parametrize("key, most", [("max_value_bytes", limit("kMostItemBytes")), ("save_interval_ms", limit("kMaxSaveIntervalMs"))])
def test_what_can_be_configured_is_bounded(bus_engine, key, most):
    def config(value):
        return f"port: 0\nmodules:\n  - class: modules::state::StateModule\n    config: {{ {key}: {value} }}\n"

    bus_engine(config(most)).start()
    code, said = bus_engine(config(most + 1)).fails()
    assert code == 2 and key in said
