"""Where the bus listens, and when it does not."""

import socket

from websockets.sync.client import connect


def test_switched_off_there_is_no_bus(own_engine):
    own_engine.env["CHELA_BUS_ENABLED"] = "false"
    own_engine.start()
    assert "bus" not in own_engine.engine_file()["ports"]


def test_a_taken_port_stops_the_start_and_is_named(own_engine):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = own_engine.cli("run", "--headless", env={"CHELA_BUS_PORT": port})
    assert code == 6
    assert port in err and "bus.port" in err


def test_the_bus_listens_where_it_is_told(own_engine):
    own_engine.env["CHELA_BUS_HOST"] = "::1"
    own_engine.start()
    with connect(f"ws://[::1]:{own_engine.engine_file()['ports']['bus']}/?token={own_engine.token}") as peer:
        assert "workerregistered" in peer.recv(timeout=60)
