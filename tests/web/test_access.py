"""Keyboard, screen reader, phone, light and dark."""

import pytest
from playwright.sync_api import expect

from support import Chat
from support.web import answers, finished, say

PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True}


def test_the_first_stops_of_tab_lead_to_what_matters(page):
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.locator(".skip").first).to_be_focused()
    expect(page.locator(".skip").first).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#chat-input")).to_be_focused()


def test_everything_that_can_be_pressed_has_a_name(page, model):
    say(page, "hello")
    finished(page)
    nameless = page.evaluate("""() => [...document.querySelectorAll('button, a, input, select, textarea')]
        .filter(each => each.offsetParent && !(each.innerText || '').trim() && !each.getAttribute('aria-label') && !each.labels?.length)
        .map(each => each.outerHTML)""")
    assert nameless == []


def test_the_conversation_is_a_log_and_answers_are_announced_once_whole(page, model):
    model.set_script({"default": {"text": "a whole answer", "chunk_delay_ms": 30}})
    expect(page.get_by_role("log", name="Conversation")).to_be_attached()
    say(page, "hello")
    expect(page.locator("#announcements")).to_have_text("a whole answer")
    assert page.locator("#announcements").get_attribute("aria-live") == "polite"


def test_arrow_keys_walk_the_tabs(page):
    tabs = page.get_by_role("tab")
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tab-chat")).to_be_visible()


def test_the_list_of_keys_opens_and_closes(page):
    page.keyboard.press("Control+/")
    expect(page.get_by_role("dialog")).to_contain_text("stop the answer")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_colours_follow_the_system_until_one_is_chosen(visit):
    page = visit(color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    toggle = page.locator("#theme-toggle")
    toggle.click()
    light = page.evaluate(background)
    assert light != dark
    page.reload()
    assert page.evaluate(background) == light
    toggle.click()
    assert page.evaluate(background) == dark
    toggle.click()
    assert page.evaluate("localStorage.length") == 0


def test_a_phone_has_the_threads_in_a_drawer(visit, engine, model):
    chat = Chat(engine)
    chat.say("on the phone")
    page = visit(thread="active", **PHONE)
    expect(page.locator("#threads")).not_to_be_in_viewport()
    page.get_by_role("button", name="Threads", exact=True).click()
    expect(page.locator("#threads")).to_be_in_viewport()
    page.locator(f'#thread-list li[data-thread-id="{chat.thread}"] button.thread').click()
    expect(page.locator("#threads")).not_to_be_in_viewport()
    expect(answers(page).last).to_contain_text("on the phone")
    page.get_by_role("button", name="Threads", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.locator("#threads")).not_to_be_in_viewport()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(visit, model, width):
    model.set_script({"default": {"text": "`" + "wide" * 200 + "`\n\n```\n" + "x" * 400 + "\n```\n\n| " + " | ".join("column" for _ in range(20)) + " |\n|" + "---|" * 20}})
    page = visit(viewport={"width": width, "height": 700})
    say(page, "wide " * 100)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.getElementById('chat-messages').scrollWidth - document.getElementById('chat-messages').clientWidth") <= 0
