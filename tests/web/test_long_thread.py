"""A thread of 2,000 messages: a bounded part of it is in the document, and all of it can be reached."""

import pytest
from playwright.sync_api import expect

from support import Chat
from support.web import answers, finished, say, users

TURNS = 1000
MOST_TURNS = 80  # in the document at once


@pytest.fixture(scope="module")
def long_thread(engine, module_model):
    module_model.set_script({"default": {"text": "An answer with **bold** words.\n\n- one\n- two"}})
    chat = Chat(engine)
    for number in range(TURNS):
        chat.say(f"question {number}")
    return chat.thread


def turns(page):
    return page.locator("#chat-messages .turn").count()


def test_it_opens_at_its_end(visit, long_thread):
    page = visit(thread=long_thread)
    expect(users(page).last).to_have_text(f"question {TURNS - 1}")
    expect(users(page).last).to_be_in_viewport()
    assert turns(page) <= MOST_TURNS
    assert page.evaluate("document.querySelectorAll('*').length") < 5000


def test_reading_back_to_the_beginning_keeps_the_document_small(visit, long_thread):
    page = visit(thread=long_thread)
    expect(users(page).last).to_be_in_viewport()
    most = 0
    for _ in range(TURNS):
        first = users(page).first.inner_text()
        if first.endswith("question 0"):
            break
        page.evaluate("document.getElementById('chat-messages').scrollTop = 0")
        page.wait_for_function("first => document.querySelector('#chat-messages .message.user .message-content')?.innerText !== first", arg=first)
        most = max(most, turns(page))
    expect(users(page).first).to_contain_text("question 0")
    assert 20 < most <= MOST_TURNS
    page.get_by_role("button", name="To the newest message").click()
    expect(users(page).last).to_contain_text(f"question {TURNS - 1}")
    expect(users(page).last).to_be_in_viewport()
    assert turns(page) <= MOST_TURNS


def test_what_is_read_stays_where_it_is_while_more_comes_in(visit, engine, model, long_thread):
    page = visit(thread=long_thread)
    expect(users(page).last).to_be_in_viewport()
    page.evaluate("document.getElementById('chat-messages').scrollTop = 0")
    page.wait_for_function("() => document.getElementById('chat-messages').scrollTop > 100")
    place = "[readTurn.isConnected, Math.round(readTurn.getBoundingClientRect().top)]"
    page.evaluate("window.readTurn = [...document.querySelectorAll('.turn')].find(each => each.getBoundingClientRect().bottom > 60)")
    before = page.evaluate(place)
    outside = Chat(engine, new=False)
    outside.thread = long_thread
    model.set_script({"default": {"text": "said meanwhile"}})
    outside.say("meanwhile")
    expect(page.locator("#announcements")).to_have_text("said meanwhile")
    assert page.evaluate(place) == before


def test_a_new_message_is_at_the_end(visit, long_thread, model):
    page = visit(thread=long_thread)
    expect(users(page).last).to_be_in_viewport()
    page.evaluate("document.getElementById('chat-messages').scrollTop = 0")
    say(page, "the newest")
    expect(users(page).last).to_contain_text("the newest")
    finished(page)
    expect(answers(page).last).to_be_in_viewport()
