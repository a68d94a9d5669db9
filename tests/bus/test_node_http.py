"""What workers of the published npm packages do with HTTP: streamed bodies, forms, middleware, and functions that are a URL."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from support.waiting import DEADLINE, wait_until
from workers import SdkError

# Channels and functions that are a URL came after 0.3.0.
VERSIONS = ("0.9.0", "0.11.6", "0.22.1")
CONFIG = """
workers:
  - name: iii-worker-manager
    config: { port: 0, host: 127.0.0.1 }
  - name: iii-http
    config: { host: 127.0.0.1, port: 0 }
  - name: iii-pubsub
  - name: iii-queue
  - name: iii-http-functions
    config: { security: { url_allowlist: ["*"], block_private_ips: false, require_https: false } }
"""


@pytest.fixture
def bus(bus_engine):
    return bus_engine(CONFIG).start()


@pytest.fixture
def worker(bus, join):
    return lambda sdk: join(sdk, port=bus.ports["bus"], token="")


@pytest.fixture
def http(bus):
    with httpx.Client(base_url=f"http://127.0.0.1:{bus.ports['http']}", timeout=DEADLINE) as client:
        yield client


@pytest.fixture
def page():
    """A server that keeps what it was sent and answers with the number of requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            requests.append((self.command, dict(self.headers.items()), json.loads(body)))
            reply = json.dumps({"count": len(requests)}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_POST = do_PUT = answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.requests, server.url = requests, f"http://127.0.0.1:{server.server_port}/hook"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def serve(http, worker, kind, method="POST", **config):
    """The path at which a function of this kind answers."""
    worker.register(f"page::{kind}", kind)
    worker.do("trigger", key=kind, type="http", function_id=f"page::{kind}", config={"api_path": kind, "http_method": method, **config})
    wait_until(lambda: http.request("OPTIONS", f"/{kind}").status_code == 405, f"/{kind} is served")
    return f"/{kind}"


@pytest.mark.parametrize("sdk", VERSIONS)
def test_bodies_are_streamed_up_and_down(http, worker, sdk):
    path, data = serve(http, worker(sdk), "mirror"), bytes(range(256)) * 2000
    answer = http.post(path, content=data, headers={"content-type": "application/pdf"})
    assert (answer.status_code, answer.headers["content-type"]) == (202, "application/pdf")
    assert answer.content == data


@pytest.mark.parametrize("sdk", VERSIONS)
def test_forms_come_as_they_were_sent(http, worker, sdk):
    path = serve(http, worker(sdk), "mirror")
    answer = http.post(path, data={"name": "größe", "list": ["1", "2"]})
    assert answer.content == b"name=gr%C3%B6%C3%9Fe&list=1&list=2"
    answer = http.post(path, data={"title": "report"}, files={"file": ("a.bin", b"\x00\xff" * 1000, "application/octet-stream")})
    assert answer.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'filename="a.bin"' in answer.content and b"\x00\xff" * 1000 in answer.content and b"report" in answer.content


@pytest.mark.parametrize("sdk", VERSIONS)
def test_json_comes_parsed_and_as_it_was_sent(http, worker, sdk):
    path, text = serve(http, worker(sdk), "both"), '{"z":2, "a":1}'
    answer = http.post(path, content=text, headers={"content-type": "application/json"})
    assert answer.json() == {"parsed": {"z": 2, "a": 1}, "raw": text}


@pytest.mark.parametrize("sdk", VERSIONS)
def test_status_and_content_type_are_the_handlers(http, worker, sdk):
    made = worker(sdk)
    answer = http.post(serve(http, made, "xml"))
    assert (answer.status_code, answer.headers["content-type"], answer.text) == (200, "text/xml", "<note>größe</note>")
    answer = http.get(serve(http, made, "missing", "GET"))
    assert (answer.status_code, answer.json()) == (404, {"error": "no such thing"})


@pytest.mark.parametrize("sdk", VERSIONS)
def test_a_route_of_another_shape_is_refused_and_the_first_serves_on(http, worker, sdk):
    first, second = worker(sdk), worker(sdk)
    for each in (first, second):
        each.register(f"page::{each.name}", "page")
    first.do("trigger", key="t", type="http", function_id=f"page::{first.name}", config={"api_path": "of/:user/:item", "http_method": "GET"})
    wait_until(lambda: http.get("/of/a/b").status_code == 201, "the route is there")
    second.do("trigger", key="t", type="http", function_id=f"page::{second.name}", config={"api_path": "of/:item/:user", "http_method": "GET"})
    second.do("trigger", key="u", type="http", function_id=f"page::{second.name}", config={"api_path": "after", "http_method": "GET"})
    wait_until(lambda: http.get("/after").status_code == 201, "what came after the refusal is there")
    answer = http.get("/of/a/b")
    assert (answer.headers["x-from"], answer.json()["path"]) == (first.name, {"user": "a", "item": "b"})


@pytest.mark.parametrize("sdk", VERSIONS)
def test_events_are_sent_as_they_happen(http, worker, sdk):
    path = serve(http, worker(sdk), "events", "GET")
    with http.stream("GET", path) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        assert "".join(answer.iter_text()) == "data: 0\n\ndata: 1\n\ndata: 2\n\n"


@pytest.mark.parametrize("sdk", VERSIONS)
def test_middleware_lets_through_or_answers(http, worker, sdk):
    made = worker(sdk)
    for kind in ("go_on", "block"):
        made.register(f"between::{kind}", kind)
    open_path = serve(http, made, "page", "GET", middleware_function_ids=["between::go_on", "between::go_on"])
    closed = serve(http, made, "echo", "GET", middleware_function_ids=["between::go_on", "between::block"])
    assert http.get(open_path).status_code == 201
    answer = http.get(closed)
    assert (answer.status_code, answer.json()) == (403, {"error": f"blocked by {made.name}"})
    assert len(made.do("seen", function_id="between::go_on")) == 3
    assert made.do("seen", function_id="page::echo") == []


@pytest.mark.parametrize("sdk", VERSIONS)
def test_middleware_runs_in_order_and_is_shown_the_request(http, worker, sdk):
    made = worker(sdk)
    for name in ("second", "first"):
        made.register(f"between::{name}", "go_on")
    made.register("page::shown", "page")
    made.do("trigger", key="t", type="http", function_id="page::shown",
            config={"api_path": "shown/:id", "http_method": "GET", "middleware_function_ids": ["between::first", "between::second"]})
    wait_until(lambda: http.get("/shown/42?q=hello").status_code == 201, "the route is there")
    assert made.do("order") == ["between::first", "between::second", "page::shown"]
    [asked] = made.do("seen", function_id="between::first")
    request = asked["request"]
    assert (asked["phase"], request["method"]) == ("preHandler", "GET") and request["headers"]["host"]
    assert (request["path_params"], request["query_params"]) == ({"id": "42"}, {"q": "hello"})


@pytest.mark.parametrize("sdk", VERSIONS)
def test_a_url_is_a_function(worker, page, sdk):
    owner, caller = worker(sdk), worker("0.22.1")
    owner.do("register_http", function_id="web::hook", url=page.url, method="PUT", headers={"x-secret": "s"})
    wait_until(lambda: "web::hook" in caller.functions(), "it is registered")
    assert caller.call("web::hook", {"n": 1}) == {"count": 1}
    assert owner.call("web::hook", {"n": 2}) == {"count": 2}
    method, headers, body = page.requests[0]
    assert (method, headers["x-secret"], body["n"]) == ("PUT", "s", 1)
    owner.do("unregister", function_id="web::hook")
    wait_until(lambda: "web::hook" not in caller.functions(), "it is gone")
    with pytest.raises(SdkError) as caught:
        caller.call("web::hook")
    assert caught.value.code == "function_not_found"


@pytest.mark.parametrize("sdk", VERSIONS)
@pytest.mark.parametrize("kind, publish", [("subscribe", "publish"), ("durable:subscriber", "iii::durable::publish")])
def test_urls_hear_of_their_topics_until_they_are_taken_back(worker, page, sdk, kind, publish):
    owner = worker(sdk)
    for name, method in (("news", "POST"), ("jobs", "PUT")):
        owner.do("register_http", function_id=f"web::{name}", url=page.url, method=method, headers={"X-Topic": name})
        owner.do("trigger", key=name, type=kind, function_id=f"web::{name}", config={"topic": name})
    owner.call("engine::workers::list")  # and so they are registered
    for name in ("news", "jobs"):
        owner.call(publish, {"topic": name, "data": {"of": name}})
    wait_until(lambda: len(page.requests) == 2, "both are told")
    told = {(method, headers.get("X-Topic") or headers["x-topic"], body["of"]) for method, headers, body in page.requests}
    assert told == {("POST", "news", "news"), ("PUT", "jobs", "jobs")}
    owner.do("end_trigger", key="news")
    owner.do("unregister", function_id="web::news")
    owner.call(publish, {"topic": "news", "data": {"of": "news"}})
    owner.call(publish, {"topic": "jobs", "data": {"of": "jobs"}})
    wait_until(lambda: len(page.requests) == 3, "the one that is left is told")
    assert page.requests[2][2] == {"of": "jobs"}
