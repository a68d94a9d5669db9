"""HTTP triggers of workers of every SDK; clients that stall, flood and leave."""

import json
import socket

import httpx
import pytest
from support.waiting import DEADLINE, wait_until
from websockets.sync.client import connect
from workers import SDKS


@pytest.fixture
def port(engine):
    return engine.engine_file()["ports"]["http"]


@pytest.fixture
def http(port):
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE) as client:
        yield client


@pytest.fixture
def raw(engine):
    """A worker by hand: registers what it is told, and serves when the test says so."""
    with connect(f"ws://127.0.0.1:{engine.engine_file()['ports']['bus']}/?token={engine.token}", max_size=None) as worker:
        yield worker


def route(worker, function_id, **config):
    for frame in ({"type": "registerfunction", "id": function_id},
                  {"type": "registertrigger", "id": function_id, "trigger_type": "http", "function_id": function_id, "config": config}):
        worker.send(json.dumps(frame))


def next_call(worker):
    while (frame := json.loads(worker.recv(timeout=DEADLINE)))["type"] != "invokefunction":
        pass
    return frame


def served(http, path, method="GET"):
    wait_until(lambda: http.request("OPTIONS", path).status_code == 405, f"{path} is served")
    return path


@pytest.mark.parametrize("sdk", SDKS)
def test_a_worker_serves_a_route_until_it_ends_it(http, join, sdk):
    worker, path = join(sdk), f"/users-{sdk}"
    worker.register(f"page::{sdk}", "page")
    worker.do("trigger", key="t", type="http", function_id=f"page::{sdk}",
              config={"api_path": f"{path[1:]}/:id", "http_method": "POST"})
    answer = http.post(served(http, f"{path}/7") + "?full=1", json={"n": [1, 2.5]})
    assert (answer.status_code, answer.headers["x-from"]) == (201, worker.name)
    assert answer.json() == {"path": {"id": "7"}, "query": {"full": "1"}, "body": {"n": [1, 2.5]}}
    worker.do("end_trigger", key="t")
    wait_until(lambda: http.post(f"{path}/7").status_code == 404, "the route is gone")


@pytest.mark.parametrize("sdk, old", [("0.3.0", True), ("0.9.0", True), ("0.11.6", True), ("0.22.1", False)])
def test_errors_have_the_envelope_of_the_workers_sdk(http, join, sdk, old):
    worker = join(sdk)
    worker.register(f"broken::{sdk}", "fail")
    worker.do("trigger", key="t", type="http", function_id=f"broken::{sdk}", config={"api_path": f"broken-{sdk}", "http_method": "GET"})
    answer = http.get(served(http, f"/broken-{sdk}"))
    assert answer.status_code == 500
    error = answer.json()["error"]
    if old:
        assert error == "internal server error" and answer.json()["error_id"]
    else:
        assert error["code"] == "invocation_failed" and "this one fails" in error["message"]


def test_routes_go_with_their_worker(http, join):
    worker = join("0.11.6")
    worker.register("gone::page", "page")
    worker.do("trigger", key="t", type="http", function_id="gone::page", config={"api_path": "gone", "http_method": "GET"})
    assert http.get(served(http, "/gone")).status_code == 201
    worker.kill()
    wait_until(lambda: http.get("/gone").status_code == 404, "the route is gone")


def test_a_worker_that_dies_in_a_request_is_an_error_at_once(http, engine, raw, port):
    route(raw, "dies::f", api_path="dies")
    served(http, "/dies")
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as client:
        client.sendall(b"GET /dies HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        next_call(raw)
        raw.socket.close()
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 500 ")


def test_trace_context_of_the_request_reaches_the_function(http, raw):
    route(raw, "trace::f", api_path="trace")
    served(http, "/trace")
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with socket.create_connection(("127.0.0.1", http.base_url.port), timeout=DEADLINE) as client:
        client.sendall(f"GET /trace HTTP/1.1\r\nHost: x\r\ntraceparent: {traceparent}\r\nbaggage: k=v,chela.user=root\r\n"
                       "Connection: close\r\n\r\n".encode())
        call = next_call(raw)
        # The same trace; the engine's own span stands between.
        assert call["traceparent"].split("-")[:2] == traceparent.split("-")[:2]
        assert "k=v" in call["baggage"] and "root" not in call["baggage"]
        raw.send(json.dumps({"type": "invocationresult", "invocation_id": call["invocation_id"], "function_id": "trace::f",
                             "result": {"body": "ok"}}))
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 200 ")


def test_malformed_and_slow_clients_disturb_nobody(http, join, port):
    worker = join("0.22.1")
    worker.register("fine::page", "page")
    worker.do("trigger", key="t", type="http", function_id="fine::page", config={"api_path": "fine", "http_method": "GET"})
    served(http, "/fine")
    open_ones = [socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) for _ in range(50)]
    for number, each in enumerate(open_ones):
        each.sendall([b"POST /fine HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx", b"GET /fi", b"\x00\xff\r\n\r\n",
                      b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /" + b"a/" * 200 + b" HTTP/1.1\r\nHost: x\r\n\r\n"][number % 5])
        assert http.get("/fine").status_code == 201
    for each in open_ones:
        each.close()
    assert http.get("/fine").status_code == 201
