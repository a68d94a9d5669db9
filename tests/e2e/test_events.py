"""/api/chat/events: what a client watches, and taking the stream up again."""

from contextlib import ExitStack

import httpx
import pytest

from support import Chat, wait_until
from support.scripts import HANG, call, slow, tools_then
from support.sse import text_of


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LIMITS_EVENT_SUBSCRIBERS": "4"}


def types(events):
    return [each.type for each in events]


def test_a_plain_turn(engine, chat):
    with engine.events(thread_id=chat.thread) as events:
        accepted = chat.send("tell me")
        seen = events.until("turn_finished")
    assert types(seen)[:2] == ["turn_started", "thinking"]
    assert types(seen)[-3:] == ["usage", "response", "turn_finished"]
    assert set(types(seen)[2:-3]) == {"stream_chunk"}
    for each in seen:
        assert each.data["type"] == each.type
        assert (each.data["thread_id"], each.data["turn_id"]) == (chat.thread, accepted["turn_id"])
    reply = seen[-2].data["content"]
    assert text_of(seen) == reply and reply.endswith("tell me")
    assert seen[-1].data["state"] == "completed"
    assert seen[-3].data["usage"]["input_tokens"] > 0


def test_a_turn_with_tools(engine, chat, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23"), call("echo", message="hi")))
    with engine.events(thread_id=chat.thread) as events:
        chat.send("compute")
        seen = events.until("turn_finished")
    started = [each.data for each in seen if each.type == "tool_started"]
    completed = [each.data for each in seen if each.type == "tool_completed"]
    results = {each.data["name"]: each.data["preview"] for each in seen if each.type == "tool_result"}
    assert sorted(each["name"] for each in started) == sorted(each["name"] for each in completed) == ["calculator", "echo"]
    assert all(each["success"] for each in completed)
    assert "391" in results["calculator"] and "hi" in results["echo"]


def test_the_response_follows_the_commit(engine, chat):
    with engine.events(thread_id=chat.thread) as events:
        chat.send("hello")
        events.until("response")
        assert chat.last()["state"] == "completed"


def test_a_users_stream_has_all_threads_and_growing_ids(engine, model):
    one, two = Chat(engine), Chat(engine)
    with engine.events() as events:
        one.say("first")
        two.say("second")
        seen = events.until("turn_finished", thread_id=two.thread)
    assert {each.data["thread_id"] for each in seen} == {one.thread, two.thread}
    places = [tuple(map(int, each.id.split("."))) for each in seen if each.id]
    assert places == sorted(places) and len(set(places)) == len(places)


def test_a_threads_stream_has_only_its_thread(engine, model):
    one, two = Chat(engine), Chat(engine)
    with engine.events(thread_id=two.thread) as events:
        one.say("first")
        two.say("second")
        seen = events.until("turn_finished")
    assert {each.data["thread_id"] for each in seen} == {two.thread}


@pytest.mark.parametrize("scope", ["thread", "user"])
def test_resuming_gives_what_was_missed_and_nothing_twice(engine, chat, scope):
    thread = chat.thread if scope == "thread" else None
    with engine.events(thread_id=thread) as events:
        chat.send("first")
        known = [each for each in events.until("turn_finished") if each.id][-1].id
    chat.say("second")
    chat.say("third")
    with engine.events(thread_id=thread, last_event_id=known) as events:
        seen = events.until("turn_finished") + events.until("turn_finished")
        chat.send("fourth")
        seen += events.until("turn_finished")
    replies = [each.data["content"] for each in seen if each.type == "response"]
    assert [reply.split()[-1] for reply in replies] == ["second", "third", "fourth"]
    assert types(seen).count("turn_started") == 3


def test_resuming_from_the_beginning_replays_the_thread(engine, chat):
    chat.say("first")
    chat.say("second")
    with engine.events(thread_id=chat.thread, last_event_id="0.0") as events:
        seen = events.until("turn_finished") + events.until("turn_finished")
    assert types(seen).count("response") == 2


def test_resuming_in_the_middle_of_an_answer(engine, chat, model):
    model.set_script({"default": slow(60)})
    with engine.events(thread_id=chat.thread) as events:
        chat.send("talk")
        events.until("stream_chunk")
        events.until("stream_chunk")
        seen = events.seen[:]
        place = [each for each in seen if each.id][-1].id
    with engine.events(thread_id=chat.thread, last_event_id=place) as events:
        seen += events.until("turn_finished")
    assert text_of(seen) == seen[-2].data["content"] == slow(60)["text"]


def test_a_late_subscriber_hears_the_rest_of_a_running_answer(engine, chat, model):
    model.set_script({"default": slow(60)})
    accepted = chat.send("talk")
    with engine.events(thread_id=chat.thread, last_event_id="0.0") as events:
        seen = events.until("turn_finished")
    assert seen[-1].data["turn_id"] == accepted["turn_id"]
    assert text_of(seen) == slow(60)["text"]


@pytest.mark.parametrize("place", ["rubbish", "-1.0", "1", "999999999.0", "1.2.3", "9" * 40 + ".0"])
def test_an_id_that_means_nothing_gives_a_reset_and_then_live_events(engine, chat, place):
    with engine.events(thread_id=chat.thread, last_event_id=place) as events:
        first = events.next()
        assert first.type == "stream_reset" and first.data["text"] == ""
        chat.send("hello")
        assert events.until("response")[-1].data["content"].endswith("hello")


def test_an_id_of_deltas_that_are_gone_gives_a_reset_with_the_whole_text(engine, chat):
    with engine.events(thread_id=chat.thread) as events:
        chat.send("hello out there")
        place = events.until("stream_chunk")[-1].id
        reply = events.until("response")[-1].data["content"]
    with engine.events(thread_id=chat.thread, last_event_id=place) as events:
        seen = events.until("turn_finished")
    assert [each.data["text"] for each in seen if each.type == "stream_reset"] == [reply]


def test_too_many_subscribers_are_refused_and_places_become_free(engine, chat):
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(engine.events())
        refused = engine.api.get("/api/chat/events")
        assert refused.status_code == 429 and refused.json()["error"]["code"] == "rate_limited"

    def free():
        with engine.api.stream("GET", "/api/chat/events") as response:
            return response.status_code == 200
    wait_until(free, "a place becomes free")


def test_an_unknown_thread_is_404(engine):
    assert engine.api.get("/api/chat/events", params={"thread_id": "nonsense"}).status_code == 404


def test_a_reader_that_does_not_read_holds_up_nobody(engine, chat, model):
    model.set_script({"default": {"text": "long " * 40_000, "chunk_bytes": 200}})
    with engine.events(thread_id=chat.thread):  # never reads
        with engine.events(thread_id=chat.thread) as events:
            chat.send("talk")
            seen = events.until("turn_finished")
        assert seen[-1].data["state"] == "completed"
        assert chat.last()["response"] == ("long " * 40_000).rstrip()


def test_headers_of_the_stream(engine):
    with httpx.stream("GET", f"{engine.base_url}/api/chat/events", headers={"Authorization": f"Bearer {engine.token}"}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "no-" in response.headers["cache-control"]


def test_a_client_that_leaves_does_not_end_its_turn(engine, chat, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    with engine.events(thread_id=chat.thread) as events:
        chat.send("hang please")
        events.until("stream_chunk")
    assert chat.last()["state"] == "processing"
    chat.interrupt()
