"""Lost and found again: reloads, broken streams, several tabs."""

from playwright.sync_api import expect

from support import Chat
from support.scripts import slow
from support.web import WATCH_ANSWER, answers, assert_only_grew, connected, finished, open_thread, rows, say, users

WORDS = slow(120, delay_ms=25)
# Text, then silence: what is shown can only have come from the stream so far.
STALLED = {"text": WORDS["text"], "stall_after": 41, "chunk_delay_ms": 5}


def shown(page):
    return answers(page).last.inner_text().strip()


def stall(page, model):
    """Begins an answer that stops in its middle; gives what there is of it."""
    model.set_script({"default": STALLED})
    say(page, "stall")
    expect(answers(page).last).to_contain_text("word39")
    text = shown(page)
    assert WORDS["text"].startswith(text)
    return text


def test_a_reload_in_mid_stream_loses_and_doubles_nothing(visit, engine, model):
    model.set_script({"default": WORDS})
    page = visit()
    page.context.add_init_script(f"addEventListener('DOMContentLoaded', {WATCH_ANSWER})")
    say(page, "talk")
    expect(answers(page).last).to_contain_text("word10")
    page.reload()
    assert "completed" not in (page.locator(".turn").last.get_attribute("data-state") if page.locator(".turn").count() else "")
    finished(page)
    assert shown(page) == WORDS["text"]
    assert_only_grew(page, WORDS["text"])


def test_after_a_reload_a_stalled_answer_has_the_same_text(page, model):
    text = stall(page, model)
    page.reload()
    expect(answers(page).last).to_contain_text("word39")
    assert shown(page) == text
    page.keyboard.press("Escape")
    finished(page, "interrupted")


def test_a_broken_stream_is_taken_up_where_it_was(page, model):
    model.set_script({"default": WORDS})
    page.evaluate(WATCH_ANSWER)
    say(page, "talk")
    for word in ("word10", "word40", "word70"):
        expect(answers(page).last).to_contain_text(word)
        page.evaluate("eventSource.close(); connectSSE()")
    finished(page)
    connected(page)
    assert shown(page) == WORDS["text"]
    assert_only_grew(page, WORDS["text"])


def test_a_stalled_answer_is_not_touched_by_reconnecting(page, model):
    text = stall(page, model)
    page.evaluate("eventSource.close(); eventSource = null; connectSSE()")
    connected(page)
    assert shown(page) == text
    page.keyboard.press("Escape")
    finished(page, "interrupted")


def test_what_happened_while_away_is_there_on_return(page, engine, model):
    say(page, "first")
    finished(page)
    thread = page.evaluate("currentThreadId")
    page.evaluate("eventSource.close()")
    outside = Chat(engine, new=False)
    outside.thread = thread
    outside.say("meanwhile")
    page.evaluate("connectSSE()")
    expect(answers(page).last).to_contain_text("meanwhile")
    expect(users(page).last).to_contain_text("meanwhile")
    expect(users(page)).to_have_count(2)


def test_two_tabs_agree(visit, model):
    one = visit()
    two = visit(thread="active")
    thread = one.evaluate("currentThreadId")
    assert two.evaluate("currentThreadId") == thread
    model.set_script({"default": slow(40, delay_ms=10)})
    say(one, "from the first")
    expect(users(two).last).to_contain_text("from the first")
    finished(one)
    finished(two)
    say(two, "from the second")
    expect(users(one).last).to_contain_text("from the second")
    for page in (one, two):
        finished(page)
        expect(users(page)).to_have_count(2)
    assert answers(one).all_inner_texts() == answers(two).all_inner_texts()


def test_another_thread_does_not_speak_in_this_one(visit, engine, model):
    here, there = Chat(engine), Chat(engine)
    here.say("here")
    page = visit(thread=here.thread)
    there.say("there")
    expect(rows(page).first).to_contain_text("there")
    expect(page.locator("#chat-messages")).not_to_contain_text("there")
    open_thread(page, there.thread)
    expect(answers(page).last).to_contain_text("there")


def test_an_engine_with_no_place_for_another_stream_is_tried_again(page):
    page.route("**/api/chat/events*", lambda route: route.fulfill(status=503, body="{}"))
    page.evaluate("connectSSE()")
    expect(page.locator("#sse-status")).to_have_text("Reconnecting…")
    page.unroute("**/api/chat/events*")
    connected(page)
