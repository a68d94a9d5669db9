"""Questions on the page: answered here, in another tab, or from outside."""

from playwright.sync_api import expect

from support import Chat
from support.scripts import call, tools_then
from support.web import answers, connected, finished, open_thread, say


def ask(page, model, name):
    model.set_script(tools_then("all done", call("write_file", id=f"id-{name}", path=name, content="hello")))
    say(page, "write it")
    card = page.locator(".approval-card")
    expect(card).to_be_visible()
    return card


def test_the_card_says_what_is_wanted(page, model):
    card = ask(page, model, "asked.txt")
    expect(card.locator(".approval-header")).to_have_text("Tool requires approval")
    expect(card.locator(".approval-tool-name")).to_have_text("write_file")
    expect(card.locator(".approval-summary")).to_have_text("asked.txt, hello")
    expect(card.locator(".approval-params")).to_be_hidden()
    card.locator(".approval-params-toggle").click()
    expect(card.locator(".approval-params")).to_contain_text('"asked.txt"')
    card.locator(".approval-params-toggle").click()
    expect(card.locator(".approval-params")).to_be_hidden()
    card.locator("button.deny").click()
    expect(card.locator(".approval-resolved")).to_have_text("Denied")
    expect(card.locator(".approval-tool-name")).to_have_text("write_file")
    for part in (".approval-description", ".approval-params", "button"):
        expect(card.locator(part)).to_have_count(0)
    finished(page)


def test_approve_runs_the_call(page, engine, model):
    card = ask(page, model, "yes.txt")
    card.locator("button.approve").click()
    expect(card.locator(".approval-resolved")).to_have_text("Approved")
    expect(answers(page).last).to_contain_text("all done")
    assert (engine.home / "workspace" / "default" / "yes.txt").read_text() == "hello"


def test_it_is_still_asked_after_a_reload(page, model):
    request = ask(page, model, "later.txt").get_attribute("data-request-id")
    page.reload()
    card = page.locator(".approval-card")
    expect(card).to_have_attribute("data-request-id", request)
    card.locator("button.approve").click()
    finished(page)


def test_another_tab_answers(visit, model):
    one = visit()
    two = visit(thread="active")
    card = ask(one, model, "tabs.txt")
    there = two.locator(".approval-card")
    expect(there).to_be_visible()
    there.locator("button.approve").click()
    expect(card.locator(".approval-resolved")).to_have_text("Approved")
    for page in (one, two):
        finished(page)
        expect(answers(page).last).to_contain_text("all done")


def test_an_answer_from_outside_shows(page, engine, model):
    card = ask(page, model, "outside.txt")
    Chat(engine, new=False).decide(card.get_attribute("data-request-id"), "deny")
    expect(card.locator(".approval-resolved")).to_have_text("Denied")
    finished(page)


def test_who_may_not_do_it_is_told_and_the_question_stays(visit, engine, model):
    token = engine.api.post("/api/tokens", json={"permissions": ["chat:*"]}).json()["token"]
    mine = ask(visit(), model, "guest.txt")
    theirs = visit(thread="active", token=token).locator(".approval-card")
    theirs.locator("button.approve").click()
    expect(theirs.locator(".approval-note")).to_contain_text("by those who may do")
    expect(theirs.locator(".approval-resolved")).to_have_count(0)
    expect(theirs.locator("button.deny")).to_be_enabled()
    mine.locator("button.deny").click()
    expect(theirs.locator(".approval-resolved")).to_have_text("Denied")


def test_a_word_in_the_chat_answers(page, model):
    card = ask(page, model, "word.txt")
    say(page, "yes")
    expect(card.locator(".approval-resolved")).to_have_text("Approved")
    finished(page)


def test_a_question_in_another_thread_is_marked_in_the_list(visit, engine, model):
    page = visit()
    model.set_script(tools_then("all done", call("write_file", id="elsewhere", path="e.txt", content="x")))
    chat = Chat(engine)
    chat.say("write there")
    row = page.locator(f'#thread-list li[data-thread-id="{chat.thread}"]')
    expect(row.locator(".badge")).to_have_text("waits for you")
    expect(page.locator(".approval-card")).to_have_count(0)
    open_thread(page, chat.thread)
    page.locator(".approval-card button.deny").click()
    finished(page)


def test_one_that_nobody_waits_for_says_so(page):
    page.evaluate("showApproval({request_id: 'none', thread_id: currentThreadId, tool_name: 'shell', description: 'Execute: ls'})")
    card = page.locator('.approval-card[data-request-id="none"]')
    card.locator("button.approve").click()
    expect(card.locator(".approval-resolved")).to_have_text("Approved")
    expect(card.locator(".approval-note")).not_to_be_empty()
    connected(page)


# Last: from here on this engine asks no more for write_file.
def test_always_asks_no_more(page, model):
    ask(page, model, "one.txt").locator("button.always").click()
    finished(page)
    model.set_script(tools_then("done again", call("write_file", id="id-two", path="two.txt", content="hello")))
    say(page, "write again")
    expect(answers(page).last).to_contain_text("done again")
