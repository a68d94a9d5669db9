"""Talking: streaming, Markdown, tools, stop, retry, edit, copy."""

import re

from playwright.sync_api import expect

from support import Chat
from support.scripts import HANG, call, slow, tools_then
from support.web import answers, finished, last_turn, open_thread, say, users


def test_a_message_and_its_answer(page):
    say(page, "hello out there")
    expect(users(page).last).to_contain_text("hello out there")
    expect(answers(page).last).to_contain_text("hello out there")
    finished(page)
    expect(page.locator("#chat-input")).to_have_value("")


def test_an_answer_is_shown_while_it_is_written(page, model):
    model.set_script({"default": HANG})
    say(page, "begin")
    expect(answers(page).last).to_contain_text("this")
    expect(last_turn(page)).to_have_attribute("aria-busy", "true")
    page.keyboard.press("Escape")
    finished(page, "interrupted")


def test_markdown_and_code_with_colours_and_a_copy_button(visit, model):
    model.set_script({"default": {"text": "# Head\n\n- **bold** `x`\n\n```python\nprint('hi')  # note\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<https://example.org/>"}})
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    say(page, "show")
    answer = answers(page).last
    expect(answer.locator("h1")).to_have_text("Head")
    expect(answer.locator("strong")).to_have_text("bold")
    expect(answer.locator("td").first).to_have_text("1")
    expect(answer.locator(".code-box .hljs-comment")).to_have_text("# note")
    expect(answer.locator('a[href="https://example.org/"]')).to_have_attribute("rel", re.compile("noopener"))
    answer.locator(".copy-code").click()
    expect(answer.locator(".copy-code")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "print('hi')  # note\n"


def test_the_answer_can_be_copied(visit, model):
    model.set_script({"default": {"text": "the **whole** answer"}})
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    say(page, "copy me")
    finished(page)
    last_turn(page).locator(".copy-button").click()
    expect(last_turn(page).locator(".copy-button")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "the **whole** answer"


def test_a_tool_card_has_arguments_result_and_time(page, model):
    model.set_script(tools_then("it is 391", call("calculator", id="one", expression="17*23")))
    say(page, "compute")
    finished(page)
    card = last_turn(page).locator(".tool-card")
    expect(card).to_have_attribute("data-state", "done")
    expect(card.locator(".tool-brief")).to_contain_text("17*23")
    expect(card.locator(".tool-time")).to_have_text(re.compile(r"\d+(\.\d)? (ms|s)"))
    card.locator("summary").click()
    expect(card.locator(".tool-arguments")).to_contain_text('"expression": "17*23"')
    expect(card.locator(".tool-result")).to_contain_text("391")
    expect(answers(page).last).to_contain_text("it is 391")


def test_a_running_tool_has_a_running_timer(page, model):
    model.set_script({"default": HANG})
    say(page, "rest")
    expect(answers(page).last).to_contain_text("this")
    # What the engine sends when a tool starts; this one never ends.
    page.evaluate("""() => eventSource.dispatchEvent(new MessageEvent('tool_started', {data: JSON.stringify({
        type: 'tool_started', thread_id: currentThreadId, turn_id: document.querySelector('.turn').dataset.turnId, call_id: 'long', name: 'wait', arguments: {}})}))""")
    card = last_turn(page).locator(".tool-card")
    expect(card).to_have_attribute("data-state", "running")
    for _ in range(3):
        expect(card.locator(".tool-time")).not_to_have_text(card.locator(".tool-time").inner_text())
    page.locator("#stop-button").click()
    finished(page, "interrupted")


def test_a_failed_tool_says_why(page, model):
    model.set_script(tools_then("sorry", call("read_file", id="none", path="none.txt")))
    say(page, "read")
    finished(page)
    card = last_turn(page).locator(".tool-card")
    expect(card).to_have_attribute("data-state", "failed")
    card.locator("summary").click()
    expect(card.locator(".tool-error")).to_contain_text("none.txt")


def test_text_before_tools_stays_after_a_reload(page, model):
    model.set_script({"rules": [{"when": {"last_role": "tool"}, "reply": {"text": "It is 4."}},
                                {"when": {"last_role": "user"}, "reply": {"text": "Let me see.", "tool_calls": [call("calculator", id="sum", expression="2+2")]}}]})
    say(page, "sum")
    finished(page)
    shown = [each.strip() for each in answers(page).all_inner_texts()]
    assert shown == ["Let me see.", "It is 4."]
    page.reload()
    finished(page)
    assert [each.strip() for each in answers(page).all_inner_texts()] == shown


def test_a_failed_turn_says_so(page, model):
    model.set_script({"default": {"status": 400, "error": {"message": "bad temperature"}}})
    say(page, "fail")
    finished(page, "failed")
    expect(last_turn(page).locator(".turn-error")).to_contain_text("bad temperature")


def test_stop_ends_the_answer(page, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    say(page, "hang please")
    expect(answers(page).last).to_contain_text("this")
    page.locator("#stop-button").click()
    finished(page, "interrupted")
    expect(page.locator("#stop-button")).to_have_count(0)
    say(page, "and now")
    expect(answers(page).last).to_contain_text("and now")


def test_try_again_replaces_the_last_answer(page, model):
    model.set_script({"replies": [{"text": "first try"}, {"text": "second try"}]})
    say(page, "again please")
    expect(answers(page).last).to_have_text("first try")
    finished(page)
    last_turn(page).locator(".retry-button").click()
    expect(answers(page).last).to_contain_text("second try")
    finished(page)
    expect(page.get_by_text("first try")).to_have_count(0)
    expect(users(page)).to_have_count(1)


def test_editing_goes_on_in_a_new_thread_from_before(visit, engine, model):
    chat = Chat(engine)
    chat.say("one")
    chat.say("two")
    page = visit(thread=chat.thread)
    users(page).nth(1).hover()
    page.locator(".turn").nth(1).locator(".edit-button").click()
    page.locator(".edit-input").fill("other")
    page.locator(".edit-input").press("Enter")
    expect(users(page).last).to_contain_text("other")
    expect(answers(page).last).to_contain_text("other")
    assert page.evaluate("currentThreadId") != chat.thread
    assert [each["user_input"] for each in chat.turns()] == ["one", "two"]
    open_thread(page, chat.thread)
    expect(users(page).last).to_contain_text("two")


def test_arrow_up_edits_the_last_message_and_escape_leaves_it(page):
    say(page, "take this back")
    finished(page)
    page.locator("#chat-input").press("ArrowUp")
    expect(page.locator(".edit-input")).to_have_value("take this back")
    page.keyboard.press("Escape")
    expect(page.locator(".edit-input")).to_have_count(0)
    expect(page.locator("#chat-input")).to_be_focused()


def test_words_to_a_running_turn_join_it(page, model):
    model.set_script({"rules": [{"when": {"last_role": "tool"}, "reply": {"text": "done with both"}},
                                {"when": {"last_role": "user"}, "reply": {"tool_calls": [call("write_file", id="wait", path="joined.txt", content="x")]}}]})
    say(page, "work")
    expect(page.locator(".approval-card")).to_be_visible()
    say(page, "and mind this")
    expect(users(page).filter(has_text="and mind this")).to_have_count(1)
    page.locator(".approval-card button.approve").click()


def test_a_message_that_does_not_arrive_can_be_sent_again(page):
    page.route("**/api/chat/send", lambda route: route.abort())
    say(page, "lost")
    expect(last_turn(page)).to_contain_text("cannot be reached")
    page.unroute("**/api/chat/send")
    page.locator(".resend").click()
    expect(answers(page).last).to_contain_text("lost")
    expect(users(page)).to_have_count(1)


def test_shift_enter_is_a_new_line(page):
    page.locator("#chat-input").fill("one")
    page.locator("#chat-input").press("Shift+Enter")
    page.locator("#chat-input").press_sequentially("two")
    page.locator("#chat-input").press("Enter")
    assert users(page).last.inner_text() == "one\ntwo"


def test_a_slow_answer_arrives_whole(page, model):
    reply = slow(80, delay_ms=5)
    model.set_script({"default": reply})
    say(page, "slowly")
    finished(page)
    assert answers(page).last.inner_text().strip() == reply["text"]


def test_what_a_command_answers_keeps_its_lines(page):
    say(page, "/help")
    answer = page.locator(".note .message.assistant p").first
    expect(answer).to_contain_text("/ping")
    assert "\n/ping" in answer.inner_text()
