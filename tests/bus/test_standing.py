"""Triggers that outlive the connection that registered them: engine::register_trigger, also over a kill of the engine."""

import pytest
from peer import CallFailed, Peer
from support.waiting import wait_until

CONFIG = "port: 0\nmodules: [{class: 'modules::pubsub::PubSubModule'}]"


@pytest.fixture
def engine(bus_engine):
    return bus_engine(CONFIG).start()


def connect(engine, functions=None):
    return Peer(f"ws://127.0.0.1:{engine.ports['bus']}", functions)


def hears(engine, topic="news"):
    """A worker with the trigger's function; gives what it was called with after one message."""
    heard = []
    peer = connect(engine, {"news::on": heard.append, "news::other": lambda data: "there"})
    peer.wait_for("news::other")
    peer.call("publish", {"topic": topic, "data": {"n": 1}})
    peer.call("news::other")
    return peer, heard


def register(peer, **more):
    return peer.call("engine::register_trigger", {"trigger_type": "subscribe", "function_id": "news::on", "config": {"topic": "news"}, **more})["id"]


def test_a_standing_trigger_outlives_its_connection_and_a_killed_engine(engine):
    first = connect(engine)
    ident = register(first, metadata={"k": 1})
    first.close()
    peer, heard = hears(engine)
    wait_until(lambda: heard == [{"n": 1}], "it fires without its connection")
    frame = next(each for each in peer.of_type("invokefunction") if each["function_id"] == "news::on")
    assert frame["metadata"] == {"k": 1}
    peer.close()
    engine.kill9()
    engine.start()
    peer, heard = hears(engine)
    wait_until(lambda: heard == [{"n": 1}], "it fires after the kill")
    row = next(row for row in peer.call("engine::registered-triggers::list")["registered_triggers"] if row["id"] == ident)
    assert (row["worker_name"], row["function_id"], row["bound"]) == ("engine", "news::on", True)
    assert peer.call("engine::unregister_trigger", {"id": ident}) == {"removed": True}
    assert peer.call("engine::unregister_trigger", {"id": ident}) == {"removed": False}
    peer.close()
    engine.kill9()
    engine.start()
    peer, heard = hears(engine)
    assert peer.call("engine::registered-triggers::list")["registered_triggers"] == [] and heard == []
    peer.close()


@pytest.mark.parametrize("data", [{}, {"trigger_type": "subscribe"}, {"trigger_type": "subscribe", "function_id": "engine::workers::register"},
                                  {"trigger_type": "subscribe", "function_id": "f", "config": {}}])
def test_what_is_no_trigger_is_refused_and_not_kept(engine, data):
    peer = connect(engine)
    with pytest.raises(CallFailed):
        peer.call("engine::register_trigger", data)
    assert peer.call("engine::registered-triggers::list")["registered_triggers"] == []
    peer.close()
    assert engine.stop() == 0
    engine.start()
    peer = connect(engine)
    assert peer.call("engine::registered-triggers::list")["registered_triggers"] == []
    peer.close()
