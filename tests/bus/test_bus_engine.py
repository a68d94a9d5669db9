"""`chela engine`: what its configuration file may say, in both dialects, and what it says to mistakes."""

import json
import signal
import socket

import pytest
from support.limits import limit
from support.waiting import wait_until
from workers import SDKS

MARCH = """
port: ${BUS_PORT:0}
modules:
  - class: modules::pubsub::PubSubModule
    config:
      adapter:
        class: modules::pubsub::LocalAdapter
  - class: modules::telemetry::TelemetryModule
"""
NOW = """
workers:
  - name: iii-engine-functions
  - name: iii-worker-manager
    config: { port: 0 }
  - name: iii-worker-manager
    config: { port: 0, host: 127.0.0.1 }
  - name: iii-pubsub
    config:
      adapter: { name: local }
"""


@pytest.mark.parametrize("config", [MARCH, NOW], ids=["march", "now"])
def test_workers_of_every_sdk_connect_without_a_token(bus_engine, join, config):
    engine = bus_engine(config).start()
    crowd = {sdk: join(sdk, port=engine.ports["bus"], token="") for sdk in SDKS}
    for sdk, worker in crowd.items():
        worker.register(f"{sdk}::echo")
    for caller in crowd.values():
        for sdk in SDKS:
            assert caller.call(f"{sdk}::echo", {"n": 1})["data"]["n"] == 1
    assert engine.stop() == 0


@pytest.mark.parametrize("origin, welcome", [
    ("http://localhost:5173", True), ("http://127.0.0.1", True), ("http://[::1]:80", True), ("https://evil.example", False), ("null", False),
    ("http://localhost.evil.example", False), ("", False),
])
def test_pages_of_other_hosts_are_not_let_in(bus_engine, origin, welcome):
    engine = bus_engine(NOW).start()
    with socket.create_connection(("127.0.0.1", engine.ports["bus"]), 20) as connection:
        connection.sendall((f"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())
        seen = b""
        while b'"type"' not in seen:
            more = connection.recv(4096)
            assert more, seen
            seen += more
    assert (b'"workerregistered"' in seen, b"AUTH_ERROR" in seen) == (welcome, not welcome)


def test_several_listeners_are_one_bus(bus_engine, join):
    engine = bus_engine(NOW).start()
    join(port=engine.ports["bus"], token="").register("one::echo")
    assert join("0.3.0", port=engine.ports["bus2"], token="").call("one::echo", {"n": 1})["data"]["n"] == 1


@pytest.mark.parametrize("config, code, words", [
    ("port: 0\nmodule: []", 2, ["config.yaml", "unknown key 'module'", "known: modules, port, workers"]),
    ("port: 0\nmodules:\n  - class: modules::pubsub::PubSubModule\n    config: { topics: 1 }", 2, ["unknown key 'topics'"]),
    ("port: 0\nmodules: [{class: modules::state::StatModule}]", 2, ["there is no module modules::state::StatModule", "iii-pubsub"]),
    ("port: 0\nmodules: [{class: 'modules::bridge_client::BridgeClientModule'}]", 2, ["bridge: url", "ws://HOST:PORT"]),
    ("port: 0\nmodules: [{class: modules::pubsub::PubSubModule}, {name: iii-pubsub}]", 2, ["twice"]),
    ("port: ${NOBODY_SETS_THIS}", 2, ["config.yaml:1", "NOBODY_SETS_THIS", "is not set"]),
    ("port: 0\n  a: [", 2, ["config.yaml:2"]),
    ("port: 70000", 2, ["port", "65535"]),
])
def test_mistakes_end_the_start_and_are_named(bus_engine, config, code, words):
    ended, said = bus_engine(config).fails()
    assert ended == code, said
    assert all(word in said for word in words), said


def test_so_many_hosts_may_be_allowed(bus_engine):
    def engine(count):
        hosts = [f"h{number}.example" for number in range(count)]
        return bus_engine(json.dumps({"port": 0, "workers": [{"name": "iii-http-functions", "config": {"security": {"url_allowlist": hosts}}}]}))
    most = limit("kMaxAllowedHosts")
    assert engine(most).start().stop() == 0
    code, said = engine(most + 1).fails()
    assert code == 2 and f"at most {most} hosts" in said


def test_a_taken_port_is_named(bus_engine):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = bus_engine("port: ${BUS_PORT}", {"BUS_PORT": port}).fails()
    assert code == 6 and str(port) in said and "configuration" in said


def test_it_says_that_it_has_gone(bus_engine):
    engine = bus_engine(MARCH).start()
    assert engine.announced.exists()
    assert engine.stop() == 0
    assert not engine.announced.exists()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", engine_port(engine)))


def engine_port(engine):
    """From its log: the file is gone."""
    return int(engine.errors().split("bus on port ")[1].split()[0])


def say_hup(engine):
    engine.process.child.send_signal(signal.SIGHUP)


def test_a_changed_file_counts_at_once(bus_engine, join):
    engine = bus_engine(NOW).start()
    before = engine.ports
    worker = join(port=before["bus"], token="")
    assert "state::get" not in worker.functions()
    engine.announced.unlink()
    engine.config.write_text(NOW + "  - name: iii-state\n")
    wait_until(engine._ready, "it begins anew")
    assert "state::get" in join(port=engine.ports["bus"], token="").functions()
    assert "has changed" in engine.errors()


def test_a_mistake_in_a_changed_file_changes_nothing(bus_engine, join):
    engine = bus_engine(NOW).start()
    worker = join(port=engine.ports["bus"], token="")
    worker.register("f")
    for text, word in ((NOW + "  - name: iii-stat\n", "iii-stat"), ("port: [", "config.yaml:1")):
        engine.config.write_text(text)
        say_hup(engine)
        wait_until(lambda w=word: w in engine.errors(), "it says what is wrong")
        assert worker.call("f", {"n": 1})["data"]["n"] == 1
    assert "goes on with the one it has" in engine.errors()
    engine.config.write_text(NOW)
    say_hup(engine)
    wait_until(lambda: "is what it was" in engine.errors(), "it reads the file")
    assert worker.call("f", {"n": 2})["data"]["n"] == 2


def test_what_cannot_start_leaves_what_was_there(bus_engine, join):
    engine = bus_engine(NOW).start()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        engine.announced.unlink()
        engine.config.write_text(NOW.replace("port: 0, host", f"port: {taken.getsockname()[1]}, host"))
        say_hup(engine)
        wait_until(engine._ready, "the old one is back")
    assert "goes on with the one it has" in engine.errors()
    join(port=engine.ports["bus"], token="").register("f")
