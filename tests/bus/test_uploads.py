"""Bodies of requests that reach workers of the published SDKs while they are sent: large ones, slow readers, clients that leave."""

import hashlib
import socket
import threading
from http.client import HTTPResponse

import httpx
import pytest
from support.waiting import DEADLINE, wait_until
from workers import PYTHON

WORKERS = ("0.9.0", "0.11.6", "0.22.1", PYTHON)  # channels came after 0.3.0
BLOCK = bytes(range(256)) * 1024
CONFIG = """
workers:
  - name: iii-worker-manager
    config: { port: 0, host: 127.0.0.1 }
  - name: iii-http
    config: { host: 127.0.0.1, port: 0 }
"""


@pytest.fixture
def bus(bus_engine):
    return bus_engine(CONFIG).start()


@pytest.fixture
def http(bus):
    with httpx.Client(base_url=f"http://127.0.0.1:{bus.ports['http']}", timeout=6 * DEADLINE) as client:
        yield client


@pytest.fixture
def serve(bus, http, join):
    def served(sdk, kind):
        worker = join(sdk, port=bus.ports["bus"], token="")
        worker.register(f"up::{kind}", kind)
        worker.do("trigger", key=kind, type="http", function_id=f"up::{kind}", config={"api_path": kind, "http_method": "POST"})
        wait_until(lambda: http.request("OPTIONS", f"/{kind}").status_code == 405, f"/{kind} is served")
        return worker

    return served


def peak_mb(bus):
    for line in open(f"/proc/{bus.process.pid}/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the engine has gone")


def sent(megabytes):
    """The bytes of an upload, and their digest."""
    blocks = megabytes * 1024 * 1024 // len(BLOCK)
    digest = hashlib.sha256()
    for _ in range(blocks):
        digest.update(BLOCK)
    return (BLOCK for _ in range(blocks)), digest.hexdigest()


@pytest.mark.parametrize("sdk, megabytes", [("0.9.0", 20), ("0.11.6", 20), ("0.22.1", 200), (PYTHON, 200)])
def test_a_large_body_leaves_memory_flat(bus, http, serve, sdk, megabytes):
    serve(sdk, "measure")
    before = peak_mb(bus)
    for headers in ({"content-length": str(megabytes * 1024 * 1024)}, {}):  # without a length it is chunked
        blocks, digest = sent(megabytes)
        answer = http.post("/measure", content=blocks, headers={"content-type": "application/octet-stream", **headers})
        assert answer.json() == {"bytes": megabytes * 1024 * 1024, "sha256": digest, "told": []}
    assert peak_mb(bus) < before + 12


@pytest.mark.parametrize("sdk", WORKERS)
def test_a_body_is_answered_while_it_comes(bus, serve, sdk):
    """By a client that reads while it sends, as it must: nobody keeps what it does not read."""
    serve(sdk, "relay")
    before, (blocks, digest) = peak_mb(bus), sent(32)
    with socket.create_connection(("127.0.0.1", bus.ports["http"]), timeout=DEADLINE) as client:
        def send():
            client.sendall(b"POST /relay HTTP/1.1\r\nHost: x\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n")
            for block in blocks:
                client.sendall(b"%x\r\n%s\r\n" % (len(block), block))
            client.sendall(b"0\r\n\r\n")

        sending = threading.Thread(target=send, daemon=True)
        sending.start()
        answer, got = HTTPResponse(client), hashlib.sha256()
        answer.begin()
        assert (answer.status, answer.headers["content-type"]) == (200, "video/mp4")
        while piece := answer.read(64 * 1024):
            got.update(piece)
        sending.join()
    assert got.hexdigest() == digest
    assert peak_mb(bus) < before + 12


@pytest.mark.parametrize("sdk", WORKERS)
def test_a_worker_learns_that_its_client_left(bus, serve, sdk):
    worker = serve(sdk, "measure")
    with socket.create_connection(("127.0.0.1", bus.ports["http"]), timeout=DEADLINE) as client:
        client.sendall(b"POST /measure HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")  # it reads
        client.sendall(b"x" * 1000)
    wait_until(lambda: worker.do("seen", function_id="reports"), "it is told")
    [report] = worker.do("seen", function_id="reports")
    assert report["bytes"] <= 1000 and report["told"] == ["unavailable"]


@pytest.mark.parametrize("sdk", WORKERS)
def test_a_body_that_its_worker_ignores_is_in_nobodys_way(http, serve, sdk):
    serve(sdk, "ignore")
    for _ in range(3):
        assert http.post("/ignore", content=BLOCK * 4, headers={"content-type": "text/plain"}).json() == "ignored"


def test_a_body_is_sent_only_once_its_worker_reads(bus, serve):
    serve("0.22.1", "measure")
    serve("0.22.1", "ignore")
    head = b"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    for kind, said in ((b"measure", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"ignore", b"HTTP/1.1 200 OK\r\n")):
        with socket.create_connection(("127.0.0.1", bus.ports["http"]), timeout=DEADLINE) as client, client.makefile("rb") as answer:
            client.sendall(head % kind)
            assert answer.read(len(said)) == said
            if kind == b"measure":
                client.sendall(b"body")
                assert b'"bytes":4' in answer.read()


@pytest.mark.parametrize("framing", [b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n",
                                     b"Transfer-Encoding: chunked, identity\r\n", b"Content-Length: 5,5\r\n"])
def test_a_body_with_two_ends_has_none(bus, serve, framing):
    worker = serve("0.22.1", "measure")
    with socket.create_connection(("127.0.0.1", bus.ports["http"]), timeout=DEADLINE) as client:
        client.sendall(b"POST /measure HTTP/1.1\r\nHost: x\r\n" + framing + b"\r\n0\r\n\r\nPOST /measure HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = client.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1
    assert worker.do("seen", function_id="up::measure") == []
