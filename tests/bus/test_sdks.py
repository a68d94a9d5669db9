"""Workers of every published SDK on one engine: what each declares is found and called by all."""

import pytest

from support.waiting import wait_until
from workers import PYTHON, SDKS, VERSIONS, SdkError


@pytest.fixture(scope="module")
def ready(crowd):
    """Everybody provides <sdk>::<kind>, and everybody sees all of it."""
    for sdk, worker in crowd.items():
        for kind in ("echo", "fail", "hang", "nested", "nothing"):
            worker.register(f"{sdk}::{kind}", kind, metadata={"of": sdk})
    wanted = {f"{sdk}::{kind}" for sdk in SDKS for kind in ("echo", "fail", "hang", "nested", "nothing")}
    for worker in crowd.values():
        wait_until(lambda worker=worker: wanted <= worker.functions().keys(), f"{worker.name} sees all functions")
    return crowd


@pytest.mark.parametrize("caller", SDKS)
@pytest.mark.parametrize("provider", SDKS)
def test_everybody_calls_everybody(ready, caller, provider):
    payload = {"text": "größe \u2028 \"quoted\"", "number": 1.5, "list": [1, None, True, {}], "big": 2**53 - 1}
    answer = ready[caller].call(f"{provider}::echo", payload)
    assert answer["from"] == f"crowd-{provider}"
    caller_id = answer["data"].pop("_caller_worker_id")
    assert answer["data"] == payload
    rows = ready[caller].call("engine::workers::list", {"worker_id": caller_id})["workers"]
    assert [row["name"] for row in rows] == [f"crowd-{caller}"]


@pytest.mark.parametrize("caller", SDKS)
@pytest.mark.parametrize("provider", SDKS)
def test_errors_of_handlers_reach_the_caller(ready, caller, provider):
    with pytest.raises(SdkError, match="this one fails") as caught:
        ready[caller].call(f"{provider}::fail")
    assert caught.value.code == "invocation_failed"


@pytest.mark.parametrize("caller", SDKS)
def test_unknown_functions_are_errors(ready, caller):
    with pytest.raises(SdkError, match="not found") as caught:
        ready[caller].call("nobody::provides::this")
    assert caught.value.code == "function_not_found"


@pytest.mark.parametrize("caller", SDKS)
def test_a_handler_without_a_value_gives_none(ready, caller):
    for provider in SDKS:
        assert ready[caller].call(f"{provider}::nothing") is None


@pytest.mark.parametrize("caller", SDKS)
def test_a_call_nobody_answers_times_out_alone(ready, caller):
    hanging = ready[caller].start("call", function_id="0.22.1::hang", payload={}, timeout=300)
    assert ready[caller].call("0.22.1::echo")["from"] == "crowd-0.22.1"
    with pytest.raises(SdkError, match="(?i)time"):
        hanging()


@pytest.mark.parametrize("caller", SDKS)
def test_void_calls_arrive_and_give_nothing(ready, join, caller):
    receiver = join("0.11.6")
    receiver.register(f"void::{caller}")
    wait_until(lambda: f"void::{caller}" in ready[caller].functions(), "it is registered")
    assert ready[caller].do("void", function_id=f"void::{caller}", payload={"n": 7}) is None
    got = wait_until(lambda: receiver.do("seen", function_id=f"void::{caller}"), "the call arrives")
    assert [each["n"] for each in got] == [7]


@pytest.mark.parametrize("caller", SDKS)
def test_operations_of_the_engine_are_functions(ready, caller):
    assert ready[caller].call("memory::write", {"path": f"bus/{caller}.md", "content": f"from {caller}"}) is not None
    assert ready[caller].call("memory::read", {"path": f"bus/{caller}.md"})["content"] == f"from {caller}"
    with pytest.raises(SdkError) as caught:
        ready[caller].call("memory::read", {"path": "bus/none.md"})
    assert caught.value.code == "not_found"
    with pytest.raises(SdkError) as caught:
        ready[caller].call("memory::read", {"path": 7})
    assert caught.value.code == "unprocessable"


def test_functions_workers_and_triggers_look_as_each_version_expects(ready, join):
    watcher = join("0.9.0")
    watcher.register("watch::on")
    watcher.do("trigger", key="t", type="engine::workers-available", function_id="watch::on", config={})
    early = wait_until(lambda: watcher.call("engine::triggers::list", {"include_internal": True})["triggers"], "it is listed")
    assert {"trigger_type": "engine::workers-available", "function_id": "watch::on"}.items() <= early[0].items()
    for sdk in ("0.22.1", PYTHON):
        types = ready[sdk].call("engine::triggers::list", {"include_internal": True})["triggers"]
        assert "engine::workers-available" in {row["id"] for row in types}
        rows = ready[sdk].call("engine::registered-triggers::list", {"include_internal": True})["registered_triggers"]
        assert rows[0]["function_id"] == "watch::on"
    rows = {row["name"]: row for row in ready["0.3.0"].call("engine::workers::list")["workers"] if "name" in row}
    for sdk in VERSIONS:
        assert rows[f"crowd-{sdk}"]["version"] == sdk and rows[f"crowd-{sdk}"]["runtime"] == "node"
        assert f"{sdk}::echo" in rows[f"crowd-{sdk}"]["functions"]
    info = ready["0.22.1"].call("engine::functions::info", {"function_id": "0.9.0::echo"})
    assert info["worker_name"] == "crowd-0.9.0" and info["metadata"] == {"of": "0.9.0"}
    # Sockets for measurements that old SDKs open beside their own are no workers.
    assert {name for name in rows if name.startswith("crowd-")} == {f"crowd-{sdk}" for sdk in SDKS}
    assert all("name" in row for row in ready["0.3.0"].call("engine::workers::list")["workers"])


@pytest.mark.parametrize("provider", ["0.9.0", "0.11.6", "0.22.1"])
@pytest.mark.parametrize("user", SDKS)
def test_trigger_types_of_workers(join, provider, user):
    source, sink = join(provider), join(user)
    source.do("trigger_type", type=f"type-{provider}-{user}")
    sink.register(f"sink::{provider}::{user}")
    sink.do("trigger", key="t", type=f"type-{provider}-{user}", function_id=f"sink::{provider}::{user}", config={"a": 1})
    wait_until(lambda: source.do("instances") == [f"sink::{provider}::{user}"], "the provider has the trigger")
    source.do("fire", payload={"n": 1})
    got = wait_until(lambda: sink.do("seen", function_id=f"sink::{provider}::{user}"), "the trigger fires")
    assert got[0]["n"] == 1
    sink.kill()
    if provider == "0.22.1":  # older SDKs do not listen to it
        wait_until(lambda: source.do("instances") == [], "the provider is told that the owner has gone")


@pytest.mark.parametrize("provider", ["0.9.0", "0.11.6", "0.22.1"])
def test_triggers_wait_for_their_type_and_outlive_its_provider(join, provider):
    sink, kind, function_id = join("0.11.6"), f"late-{provider}", f"late::{provider}"
    sink.register(function_id)
    sink.do("trigger", key="t", type=kind, function_id=function_id, config={})
    for count in (1, 2):
        source = join(provider)
        source.do("trigger_type", type=kind)
        wait_until(lambda source=source: source.do("instances") == [function_id], "the provider has the trigger")
        source.do("fire", payload={"count": count})
        wait_until(lambda count=count: [each["count"] for each in sink.do("seen", function_id=function_id)] == list(range(1, count + 1)),
                   "the trigger fires")
        source.kill()


@pytest.mark.parametrize("sdk", ["0.11.6", "0.22.1"])
def test_a_trigger_type_registers_triggers_and_functions_of_its_own(ready, join, sdk):
    source, caller, kind = join(sdk), ready["0.22.1"], f"bell-{sdk}"

    def types():
        return {row["id"]: row for row in caller.call("engine::triggers::list")["triggers"]}

    source.do("trigger_type", type=kind)
    wait_until(lambda: types().get(kind, {}).get("worker_name") == source.name, "the type is listed")
    assert "configuration_schema" not in types()[kind]
    source.register(f"{kind}::plain")
    source.do("trigger_by_type", type=kind, function_id=f"{kind}::plain", config={"ring": "x" * 200})
    source.do("function_by_type", type=kind, function_id=f"{kind}::made", config={"ring": 2})
    wait_until(lambda: sorted(source.do("instances")) == [f"{kind}::made", f"{kind}::plain"], "the provider has both triggers")
    assert caller.call(f"{kind}::made", {"n": 1})["data"]["n"] == 1
    rows = {row["function_id"]: row for row in caller.call("engine::registered-triggers::list", {"trigger_type": kind})["registered_triggers"]}
    assert rows.keys() == {f"{kind}::made", f"{kind}::plain"}
    assert all(row["worker_name"] == source.name and 0 < len(row["config_summary"]) <= 80 for row in rows.values())
    source.do("end_trigger_type", type=kind)
    wait_until(lambda: kind not in types(), "the type is gone")
    everything = {row["id"] for row in caller.call("engine::triggers::list", {"include_internal": True})["triggers"]}
    assert types().keys() <= everything


def test_a_trigger_that_waits_for_its_type_is_no_error(join, tmp_path):
    """Since 0.22 a trigger may come before its type, and the SDK writes every refusal down."""
    early = join("0.22.1")
    early.register("early::on")
    early.do("trigger", key="t", type="early", function_id="early::on", config={"tag": 1})
    early.call("engine::workers::list")  # what was answered before has arrived
    assert "Trigger registration failed" not in (tmp_path / f"{early.name}.err").read_text()
    late = join("0.22.1")
    late.do("trigger_type", type="early")
    wait_until(lambda: late.do("instances") == ["early::on"], "the provider has the trigger")


@pytest.mark.parametrize("sdk", ["0.9.0", "0.11.6", "0.22.1"])
def test_a_stream_in_pieces_is_read_whole(join, sdk):
    writer, reader = join(sdk), join("0.22.1")
    reader.register(f"pieces::{sdk}", "collect")
    wait_until(lambda: f"pieces::{sdk}" in writer.functions(), "it is registered")
    answer = writer.do("stream_pieces", function_id=f"pieces::{sdk}", pieces=500, bytes=8)
    assert answer["bytes"] == 4000
