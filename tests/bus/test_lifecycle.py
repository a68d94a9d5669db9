"""Workers that come, go, die and come back."""

import pytest

from proxy import Proxy
from support.waiting import wait_until
from workers import SDKS, SdkError


@pytest.fixture
def caller(join):
    return join("0.11.6")


def alive(caller, function_id):
    wait_until(lambda: function_id in caller.functions(), f"{function_id} is there")


@pytest.mark.parametrize("sdk", SDKS)
def test_what_a_dead_worker_provided_is_gone(caller, join, sdk):
    worker = join(sdk)
    worker.register("dies::echo")
    worker.register("dies::hang", "hang")
    alive(caller, "dies::hang")
    hanging = caller.start("call", function_id="dies::hang", payload={})
    wait_until(lambda: worker.do("seen", function_id="dies::hang"), "the call arrives")
    worker.kill()
    with pytest.raises(SdkError) as caught:
        hanging()
    assert caught.value.code == "invocation_stopped"
    wait_until(lambda: not any(each.startswith("dies::") for each in caller.functions()), "its functions are gone")
    with pytest.raises(SdkError, match="not found"):
        caller.call("dies::echo")
    names = {row["name"] for row in caller.call("engine::workers::list")["workers"]}
    assert worker.name not in names


@pytest.mark.parametrize("sdk", SDKS)
def test_orderly_shutdown_and_unregister(caller, join, sdk):
    worker = join(sdk)
    worker.register("leaves::one")
    worker.register("leaves::two")
    alive(caller, "leaves::two")
    worker.do("unregister", function_id="leaves::one")
    wait_until(lambda: "leaves::one" not in caller.functions(), "it is unregistered")
    assert caller.call("leaves::two")["from"] == worker.name
    worker.do("shutdown")
    wait_until(lambda: "leaves::two" not in caller.functions(), "the worker has gone")


def test_two_providers_share_and_one_dies_without_a_failed_call(caller, join):
    one, two = join("0.22.1"), join("python")
    for each in (one, two):
        each.register("both::echo")
    wait_until(lambda: {caller.call("both::echo")["from"] for _ in range(4)} == {one.name, two.name}, "both serve")
    one.kill()
    wait_until(lambda: len(caller.call("engine::workers::list")["workers"]) <= 2, "the engine has noticed")
    assert {caller.call("both::echo")["from"] for _ in range(20)} == {two.name}
    three = join("0.9.0")
    three.register("both::echo")
    wait_until(lambda: three.name in {caller.call("both::echo")["from"] for _ in range(4)}, "a new one serves too")


@pytest.mark.parametrize("sdk", SDKS)
def test_a_worker_whose_connection_broke_comes_back(engine, caller, join, sdk):
    proxy = Proxy(engine.engine_file()["ports"]["bus"])
    try:
        worker = join(sdk, port=proxy.port)
        worker.register("back::echo")
        alive(caller, "back::echo")
        proxy.cut(engine_too=True)
        wait_until(lambda: works(caller, "back::echo"), "it serves again")
    finally:
        proxy.close()


def works(caller, function_id):
    try:
        return caller.call(function_id) is not None
    except SdkError:
        return False


@pytest.mark.parametrize("sdk", ["0.22.1", "python"])
def test_reattaching_ends_the_connection_that_the_engine_still_believes_in(engine, caller, join, sdk):
    proxy = Proxy(engine.engine_file()["ports"]["bus"])
    try:
        worker = join(sdk, port=proxy.port)
        worker.register("reattach::echo")
        alive(caller, "reattach::echo")

        def rows():
            return [row["id"] for row in caller.call("engine::workers::list")["workers"] if row.get("name") == worker.name]

        wait_until(lambda: len(rows()) == 1, "it has introduced itself")
        before = rows()
        proxy.cut(engine_too=False)  # the engine's side stays open and silent
        wait_until(lambda: len(rows()) == 1 and rows() != before, "the new connection has replaced the old one")
        alive(caller, "reattach::echo")  # it introduces itself before it registers
        for _ in range(4):
            assert caller.call("reattach::echo")["from"] == worker.name
    finally:
        proxy.close()


def test_the_bus_survives_the_gatherings_of_many(caller, join):
    """Workers that come at once all get in, and nothing is left of them."""
    crowd = [join(sdk) for sdk in SDKS for _ in range(2)]
    for number, each in enumerate(crowd):
        each.register(f"many::{number}")
    wait_until(lambda: sum(each.startswith("many::") for each in caller.functions()) == len(crowd), "all are there")
    waits = [caller.start("call", function_id=f"many::{number}", payload={"n": number}) for number in range(len(crowd))]
    assert [wait()["data"]["n"] for wait in waits] == list(range(len(crowd)))
    for each in crowd:
        each.kill()
    wait_until(lambda: not any(each.startswith("many::") for each in caller.functions()), "all are gone")


def test_engine_restart_brings_every_worker_back(own_engine, tmp_path):
    """The port is fixed here, as it is for people: workers find the engine again by themselves."""
    from workers import Worker
    own_engine.start()
    port = own_engine.engine_file()["ports"]["bus"]
    own_engine.env["CHELA_BUS_PORT"] = str(port)
    crowd = [Worker(sdk, port, own_engine.token, f"again-{sdk}", tmp_path) for sdk in SDKS]
    try:
        for each in crowd:
            each.register(f"again::{each.sdk}")
        caller = crowd[2]
        wait_until(lambda: all(works(caller, f"again::{sdk}") for sdk in SDKS), "all serve")
        own_engine.restart()
        wait_until(lambda: all(works(caller, f"again::{sdk}") for sdk in SDKS), "all serve again")
    finally:
        for each in crowd:
            each.close()
