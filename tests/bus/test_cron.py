"""Cron triggers of workers of the published SDKs, and no time run twice when the engine is killed."""

import pytest
from support.waiting import wait_until
from workers import SDKS

CONFIG = """
port: ${BUS_PORT:0}
modules:
  - class: modules::cron::CronModule
    config:
      adapter: { class: modules::cron::KvCronAdapter, config: { store_method: file_based, file_path: ./data/cron } }
"""


@pytest.fixture
def bus(bus_engine):
    return bus_engine(CONFIG).start()


def times(worker, function_id="tick"):
    return [each["scheduled_time"] for each in worker.do("seen", function_id=function_id)]


def test_functions_of_every_sdk_run_by_the_clock(bus, join):
    workers = {sdk: join(sdk, port=bus.ports["bus"], token="") for sdk in SDKS}
    for sdk, each in workers.items():
        each.register(f"{sdk}::tick")
        each.do("trigger", key="t", type="cron", function_id=f"{sdk}::tick", config={"expression": "* * * * * *"})
    for sdk, each in workers.items():
        wait_until(lambda: len(times(each, f"{sdk}::tick")) >= 2, f"{sdk} runs twice")
        for run in each.do("seen", function_id=f"{sdk}::tick"):
            assert run["trigger"] == "cron" and run["scheduled_time"] <= run["actual_time"] and run["job_id"]


def test_two_workers_of_one_job_share_it_and_take_over(bus, join):
    first, second = (join(port=bus.ports["bus"], token="") for _ in range(2))
    for each in (first, second):
        each.register("tick")
        each.do("trigger", key="t", type="cron", function_id="tick", config={"expression": "* * * * * *", "timezone": "Europe/Berlin"})
    wait_until(lambda: len(times(first)) + len(times(second)) >= 3, "it runs three times")
    first.kill()
    before = len(times(second))
    wait_until(lambda: len(times(second)) >= before + 2, "the other one goes on")
    assert len(set(times(second))) == len(times(second))


def test_a_killed_engine_runs_no_time_twice(bus, join):
    worker = join("0.11.6", port=bus.ports["bus"], token="")
    worker.register("tick")
    worker.do("trigger", key="t", type="cron", function_id="tick", config={"expression": "* * * * * *"})
    bus.env["BUS_PORT"] = str(bus.ports["bus"])
    for round in range(3):
        seen = len(times(worker))
        wait_until(lambda: len(times(worker)) > seen, "it runs")
        bus.kill9()  # right after a run
        bus.start()
    seen = len(times(worker))
    wait_until(lambda: len(times(worker)) > seen, "it runs after the last restart")
    assert times(worker) == sorted(set(times(worker)))
