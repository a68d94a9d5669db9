"""The list of threads: new, search, order, names."""

import re

from playwright.sync_api import expect

from support import Chat
from support.web import answers, finished, open_thread, rows, say, users


def test_a_new_thread_is_empty_and_gets_its_name_from_the_first_words(page):
    say(page, "the first words of it")
    finished(page)
    page.locator("#thread-new").click()
    expect(users(page)).to_have_count(0)
    say(page, "something else")
    finished(page)
    expect(rows(page).first).to_contain_text("something else")
    expect(rows(page).nth(1)).to_contain_text("the first words of it")
    rows(page).nth(1).locator("button.thread").click()
    expect(users(page)).to_have_count(1)
    expect(answers(page).last).to_contain_text("the first words of it")


def test_a_new_thread_by_key(page):
    before = page.evaluate("currentThreadId")
    page.keyboard.press("Alt+n")
    page.wait_for_function("id => currentThreadId !== id", arg=before)


def test_search_finds_threads(visit, engine, model):
    apples, pears = Chat(engine), Chat(engine)
    apples.say("a question about apples")
    pears.say("a question about pears")
    page = visit()
    page.keyboard.press("Control+k")
    expect(page.locator("#thread-search")).to_be_focused()
    page.keyboard.type("pears")
    expect(rows(page).filter(has_text="apples")).to_have_count(0)
    expect(rows(page).filter(has_text="pears")).to_have_count(1)
    page.locator("#thread-search").fill("no such words")
    expect(page.locator("#thread-list")).to_contain_text("No thread has these words")
    page.locator("#thread-search").fill("assist")
    expect(page.locator("#thread-list li")).to_have_text(re.compile("Assistant"))
    page.locator("#thread-search").fill("")
    expect(rows(page).filter(has_text="apples")).to_have_count(1)


def test_the_assistants_thread_is_pinned_above_newer_ones(page):
    say(page, "newer than the pinned one")
    expect(rows(page).first).to_contain_text("newer than the pinned one")
    pinned = page.locator("#thread-list li").first
    expect(pinned).to_have_attribute("data-thread-type", "assistant")
    pinned.locator("button.thread").click()
    expect(pinned).to_have_class("active")
    say(page, "to the assistant")
    expect(answers(page).last).to_contain_text("to the assistant")
    expect(page.locator("#thread-list li").first).to_have_attribute("data-thread-type", "assistant")


def test_a_thread_can_be_renamed(page, engine):
    say(page, "rename me")
    finished(page)
    row = rows(page).first
    row.hover()
    row.locator(".rename-button").click()
    row.locator(".rename").fill("Better name")
    row.locator(".rename").press("Enter")
    expect(rows(page).first).to_contain_text("Better name")
    page.reload()
    expect(rows(page).first).to_contain_text("Better name")


def test_going_from_thread_to_thread_shows_each_its_own(visit, engine, model):
    chats = [Chat(engine) for _ in range(4)]
    for number, chat in enumerate(chats):
        chat.say(f"thread number {number}")
    page = visit(thread=chats[0].thread)
    for number, chat in list(enumerate(chats)) * 2:
        open_thread(page, chat.thread)
        expect(users(page)).to_have_count(1)
        expect(users(page)).to_contain_text(f"thread number {number}")


def test_agents_can_be_chosen_for_a_new_thread(browser, own_engine):
    from support.web import Visit
    folder = own_engine.home / "agents" / "poet"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "poet"\ndescription = "writes verse"\n')
    own_engine.start()
    visit = Visit(browser, own_engine)
    page = visit()
    page.locator("#agent-select").select_option("poet")
    page.locator("#thread-new").click()
    expect(page.locator("#thread-list li.active")).to_contain_text("poet")
    visit.close()
