"""What happens on the bus, as workers of the published SDKs see it."""

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
