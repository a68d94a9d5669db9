"""What happens on the bus, as workers of the published SDKs see it."""

import json

import pytest

from support.waiting import wait_until
from workers import PYTHON


@pytest.mark.parametrize("sdk", ["0.3.0", "0.22.1", PYTHON])
def test_logs_calls_and_measures_can_be_looked_at(join, sdk):
    worker = join(sdk)
    worker.register("seen::echo")
    worker.register("seen::fail", "fail")
    wait_until(lambda: "seen::fail" in worker.functions(), "they are registered")
    worker.call("engine::traces::clear")
    worker.call("engine::log::warn", {"message": f"by {sdk}", "data": {"n": 1}})
    logs = worker.call("engine::logs::list", {"severity_text": "WARN"})["logs"]
    assert [(each["body"], each["attributes"]) for each in logs if each["body"] == f"by {sdk}"] == [(f"by {sdk}", {"n": 1})]
    assert worker.call("seen::echo", {"x": 1})["data"]["x"] == 1
    with pytest.raises(Exception, match="this one fails"):
        worker.call("seen::fail")
    spans = {each["name"]: each for each in worker.call("engine::traces::list")["spans"]}
    assert spans["call seen::echo"]["status"] == "ok" and spans["call seen::fail"]["status"] == "error"
    tree = worker.call("engine::traces::tree", {"trace_id": spans["call seen::echo"]["trace_id"]})
    assert tree["roots"]
    counted = worker.call("engine::metrics::list")["engine_metrics"]["invocations"]
    assert counted["by_function"]["seen::echo"] >= 1 and counted["error"] >= 1


def test_a_worker_hears_logs(join):
    listener, speaker = join("0.11.6"), join(PYTHON)
    listener.register("on::log")
    listener.do("trigger", key="t", type="log", function_id="on::log", config={"level": "error"})
    wait_until(lambda: any(row["trigger_type"] == "log" for row in speaker.call(
        "engine::registered-triggers::list", {"include_internal": True})["registered_triggers"]), "it is bound")
    speaker.call("engine::log::info", {"message": "quiet"})
    speaker.call("engine::log::error", {"message": "loud"})
    heard = wait_until(lambda: listener.do("seen", function_id="on::log"), "the log is told")
    assert [each["body"] for each in heard] == ["loud"]


def test_an_exporter_that_is_not_there_stops_the_start(bus_engine):
    code, said = bus_engine("port: 0\nmodules:\n  - class: modules::observability::OtelModule\n    config: {exporter: otlp}\n").fails()
    assert code != 0 and "OTLP exporter" in said


def test_traces_are_grouped_and_calls_under_way_are_pending(join):
    worker = join("0.22.1")
    for kind in ("echo", "hang"):
        worker.register(f"grouped::{kind}", kind)
    wait_until(lambda: "grouped::hang" in worker.functions(), "they are registered")
    worker.call("engine::traces::clear")
    for n in range(2):
        worker.call("grouped::echo", {"n": n})
    worker.do("void", function_id="grouped::hang", payload={})
    rows = wait_until(lambda: [each for each in worker.call("engine::traces::list", {"status": "pending"})["spans"]
                               if each["name"] == "call grouped::hang"], "the call under way is listed")
    assert rows[0]["end_time_unix_nano"] == 0
    groups = {each["value"]: each for each in worker.call("engine::traces::group_by", {"attribute": "function_id"})["groups"]}
    assert groups["grouped::echo"]["span_count"] == 2 and len(groups["grouped::echo"]["trace_ids"]) == 2
    assert groups["grouped::echo"]["error_count"] == 0 and groups["grouped::hang"]["span_count"] == 1


def test_level_and_format_are_those_of_what_the_engine_says(bus_engine):
    config = ("port: 0\nmodules:\n  - class: modules::observability::OtelModule\n"
              "    config: {exporter: memory, level: warn, format: json, logs_batch_size: 10}\n")
    engine = bus_engine(config).start()
    said = [json.loads(line) for line in engine.errors().splitlines() if line.startswith("{")]
    assert any("no effect" in each["msg"] and "logs_batch_size" in each["fields"]["key"] for each in said), engine.errors()
    assert not any(each["level"] == "info" for each in said), "what is said once the module is there is warnings alone"
