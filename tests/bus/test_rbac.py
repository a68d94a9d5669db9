"""Listeners with rules: who is let in, what they may call and register, and who decides. The host speaks by hand, guests are SDKs."""

import json

import pytest
from peer import CallFailed, Peer
from support.waiting import DEADLINE, wait_until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from workers import SdkError

CONFIG = """
workers:
  - name: iii-worker-manager
    config: { port: 0 }
  - name: iii-worker-manager
    config:
      port: 0
      middleware_function_id: test::middleware
      rbac:
        auth_function_id: test::auth
        expose_functions:
          - match("test::public::*")
          - match("engine::functions::list")
          - metadata: { public: true }
        on_function_registration_function_id: test::on-function
        on_trigger_registration_function_id: test::on-trigger
        on_trigger_type_registration_function_id: test::on-type
  - name: iii-worker-manager
    config: { port: 0, rbac: {} }
"""
VERSIONS = ["0.11.6", "0.22.1"]


class Host:
    """Provides the functions that decide, and some to be called."""

    def __init__(self, engine):
        self.asked = []
        self.answers = {"test::auth": self.auth, "test::on-function": self.on_function, "test::on-trigger": self.on_trigger,
                        "test::on-type": lambda data: data if data["trigger_type_id"].startswith("good") else None,
                        "test::middleware": self.middleware}
        functions = {function: self.record(function) for function in self.answers}
        self.peer = Peer(f"ws://127.0.0.1:{engine.ports['bus']}", functions, "host")
        for function in ("test::public::echo", "test::private::echo", "test::public::forbidden"):
            self.peer.provide(function, lambda data: {"echoed": data})
        self.peer.provide("test::marked::echo", lambda data: {"echoed": data}, metadata={"public": True})
        self.peer.wait_for("test::marked::echo")

    def record(self, function):
        def answer(data):
            self.asked.append((function, data))
            return self.answers[function](data)

        return answer

    def auth(self, data):
        token = data["query_params"].get("token", [""])[0]
        if token == "broken":
            return "nonsense"
        if token == "prefixed":
            return {"function_registration_prefix": "guest", "allowed_functions": [], "context": {"user": token}}
        if token != "good":
            raise RuntimeError("nobody knows this token")
        return {"allowed_functions": ["test::allowed::one"], "forbidden_functions": ["test::public::forbidden"],
                "allow_trigger_type_registration": True, "context": {"user": "ann"}}

    def on_function(self, data):
        if "bad" in data["function_id"]:
            raise RuntimeError("not this one")
        return {"function_id": data["function_id"], "description": "seen", "metadata": {"by": data["context"].get("user")}}

    def on_trigger(self, data):
        return None if data["config"].get("bad") else {}

    def middleware(self, data):
        payload = {**data["payload"], "user": data["context"].get("user")}
        return self.peer.call(data["function_id"], payload)


@pytest.fixture
def engine(bus_engine):
    return bus_engine(CONFIG).start()


@pytest.fixture
def host(engine):
    made = Host(engine)
    yield made
    made.peer.close()


@pytest.fixture
def guest(engine, host, join):
    return lambda sdk="0.22.1", token="good": join(sdk, port=engine.ports["bus2"], token=token)


def refused(call):
    with pytest.raises(SdkError) as caught:
        call()
    assert caught.value.code == "FORBIDDEN", caught.value
    return str(caught.value)


@pytest.mark.parametrize("sdk", VERSIONS)
def test_what_is_exposed_is_called_through_the_middleware(host, guest, sdk):
    worker = guest(sdk)
    for function in ("test::public::echo", "test::marked::echo"):
        echoed = worker.call(function, {"n": 1})["echoed"]
        assert (echoed["n"], echoed["user"]) == (1, "ann")
    assert [data["function_id"] for function, data in host.asked if function == "test::middleware"] == [
        "test::public::echo", "test::marked::echo"]


@pytest.mark.parametrize("sdk", VERSIONS)
def test_what_is_not_exposed_is_forbidden(guest, sdk):
    worker = guest(sdk)
    assert "expose_functions" in refused(lambda: worker.call("test::private::echo"))
    assert "forbidden_functions" in refused(lambda: worker.call("test::public::forbidden"))
    assert "expose_functions" in refused(lambda: worker.call("engine::workers::list"))
    assert "test::private::echo" not in worker.functions()
    assert {"test::public::echo", "test::marked::echo"} <= worker.functions().keys()


@pytest.mark.parametrize("sdk", VERSIONS)
def test_the_visitor_is_shown_to_the_auth_function(host, guest, sdk):
    guest(sdk).functions()
    function, shown = next(each for each in host.asked if each[0] == "test::auth")
    assert shown["query_params"]["token"] == ["good"] and shown["ip_address"] == "127.0.0.1"
    assert shown["headers"]["upgrade"] == "websocket"


@pytest.mark.parametrize("token", ["wrong", "broken"])
@pytest.mark.parametrize("path", ["/", "/otel"])
def test_who_is_not_let_in_is_told_why(engine, host, token, path):
    with connect(f"ws://127.0.0.1:{engine.ports['bus2']}{path}?token={token}") as peer:
        frame = json.loads(peer.recv(timeout=DEADLINE))
        assert (frame["type"], frame["error"]["code"]) == ("error", "AUTH_ERROR")
        with pytest.raises(ConnectionClosed) as caught:
            peer.recv(timeout=DEADLINE)
        assert caught.value.rcvd.code == 1008


def test_without_its_auth_function_nobody_is_let_in(engine):
    with connect(f"ws://127.0.0.1:{engine.ports['bus2']}/?token=good") as peer:
        frame = json.loads(peer.recv(timeout=DEADLINE))
        assert frame["error"]["code"] == "AUTH_ERROR" and "test::auth" in frame["error"]["message"]


@pytest.mark.parametrize("sdk", VERSIONS)
def test_functions_are_registered_as_the_hook_says(host, guest, sdk):
    worker = guest(sdk)
    worker.register("test::public::good")
    worker.register("test::public::bad")
    worker.register("test::public::last")
    host.peer.wait_for("test::public::last")
    assert "test::public::bad" not in host.peer.ids()
    row = next(row for row in host.peer.call("engine::functions::list")["functions"] if row["function_id"] == "test::public::good")
    assert (row["description"], row["metadata"]) == ("seen", {"by": "ann"})
    assert host.peer.call("test::public::good", {"n": 1})["data"]["n"] == 1


@pytest.mark.parametrize("sdk", VERSIONS)
def test_a_prefix_is_unseen_by_its_worker(host, guest, sdk):
    worker = guest(sdk, token="prefixed")
    worker.register("mine")
    host.peer.wait_for("guest::mine")
    assert host.peer.call("guest::mine", {"n": 1})["data"]["n"] == 1
    worker.do("unregister", function_id="mine")
    wait_until(lambda: "guest::mine" not in host.peer.ids(), "it is gone")


@pytest.mark.parametrize("sdk", VERSIONS)
def test_triggers_are_registered_as_the_hook_says(host, guest, sdk):
    worker = guest(sdk)
    worker.register("test::public::on")
    for key, config in (("bad", {"bad": True}), ("good", {})):
        worker.do("trigger", key=key, type="engine::workers-available", function_id="test::public::on", config=config)
    worker.do("trigger", key="closed", type="engine::workers-available", function_id="test::private::echo", config={})

    def registered():
        rows = host.peer.call("engine::registered-triggers::list", {"include_internal": True})["registered_triggers"]
        return [row["function_id"] for row in rows]

    wait_until(lambda: len([1 for function, _ in host.asked if function == "test::on-trigger"]) == 3, "the hook was asked")
    wait_until(lambda: registered() == ["test::public::on"], "the good one alone is there")


def test_trigger_types_are_registered_as_the_hook_says(engine, host):
    worker = Peer(f"ws://127.0.0.1:{engine.ports['bus2']}/?token=good")
    for kind in ("bad", "good"):
        worker.send(type="registertriggertype", id=f"{kind}-bell", description="rings")

    def types():
        return {row["id"] for row in host.peer.call("engine::trigger-types::list")["trigger_types"]}

    wait_until(lambda: "good-bell" in types(), "the good one is there")
    assert "bad-bell" not in types()
    prefixed = Peer(f"ws://127.0.0.1:{engine.ports['bus2']}/?token=prefixed")  # may not by default
    prefixed.send(type="registertriggertype", id="good-gong", description="rings")
    assert prefixed.ids() and "good-gong" not in types()
    worker.close()
    prefixed.close()


def test_rules_without_an_auth_function_let_everybody_in_and_expose_nothing(engine, host):
    worker = Peer(f"ws://127.0.0.1:{engine.ports['bus3']}")
    with pytest.raises(CallFailed) as caught:
        worker.call("test::public::echo")
    assert caught.value.code == "FORBIDDEN"
    worker.provide("test::of-a-stranger", lambda data: "hello")
    host.peer.wait_for("test::of-a-stranger")
    assert host.peer.call("test::of-a-stranger") == "hello"
    worker.close()
