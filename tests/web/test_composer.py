"""The message field: files and commands."""

import base64

from playwright.sync_api import expect

from support.web import answers, finished, last_turn, say, users

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def pending(page):
    return page.locator(".attachments.pending .attachment")


def test_files_are_chosen_shown_and_taken_out_again(page):
    page.locator("#file-input").set_input_files([{"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL},
                                                 {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"remember the milk"}])
    expect(pending(page)).to_have_count(2)
    expect(pending(page).first.locator("img.preview")).to_be_visible()
    assert page.evaluate("document.querySelector('img.preview').naturalWidth") == 1
    page.get_by_role("button", name="Remove dot.png").click()
    expect(pending(page)).to_have_count(1)


def test_files_of_a_message_reach_the_model_and_stay_with_it(page, engine, model):
    page.locator("#file-input").set_input_files([{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"remember the milk"},
                                                 {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL}])
    say(page, "read these")
    finished(page)
    sent = last_turn(page).locator(".message.user .attachment")
    expect(sent).to_have_count(2)
    expect(sent.first).to_contain_text("notes.txt")
    expect(pending(page)).to_have_count(0)
    assert "remember the milk" in str(model.bodies()[-1]["messages"])
    listed = engine.api.get("/api/chat/history", params={"thread_id": page.evaluate("currentThreadId")}).json()["turns"][-1]["attachments"]
    assert [each["media_type"] for each in listed] == ["text/plain", "image/png"]
    folder = engine.home / "workspace" / "default"
    assert [(folder / each["path"]).read_bytes() for each in listed] == [b"remember the milk", PIXEL]
    page.reload()
    expect(sent.last).to_contain_text("dot.png")


def test_a_file_alone_is_a_message(page, model):
    page.locator("#file-input").set_input_files([{"name": "only.txt", "mimeType": "text/plain", "buffer": b"nothing but this"}])
    page.locator("#send-button").click()
    finished(page)
    assert "nothing but this" in str(model.bodies()[-1]["messages"])


def test_a_message_with_files_that_does_not_arrive_is_sent_again_with_them(page, model):
    page.route("**/api/chat/send", lambda route: route.abort())
    page.locator("#file-input").set_input_files([{"name": "late.txt", "mimeType": "text/plain", "buffer": b"late but here"}])
    say(page, "take this")
    expect(last_turn(page)).to_contain_text("cannot be reached")
    page.unroute("**/api/chat/send")
    page.locator(".resend").click()
    finished(page)
    assert "late but here" in str(model.bodies()[-1]["messages"])


def test_files_can_be_dropped_and_pasted(page):
    for kind, target in (("drop", ".chat"), ("paste", "#chat-input")):
        page.evaluate("""([kind, target]) => {
            const data = new DataTransfer();
            data.items.add(new File(['from ' + kind], kind + '.txt', {type: 'text/plain'}));
            const event = kind === 'drop' ? new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})
                                          : new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
            document.querySelector(target).dispatchEvent(event);
        }""", [kind, target])
    expect(pending(page)).to_have_count(2)
    expect(pending(page).last).to_contain_text("paste.txt")


def test_too_many_and_too_large_are_refused_with_words(page):
    page.locator("#file-input").set_input_files([{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(9)])
    expect(pending(page)).to_have_count(8)
    expect(page.locator(".composer .error")).to_contain_text("At most 8")
    page.reload()
    page.locator("#file-input").set_input_files([{"name": "big.bin", "mimeType": "application/octet-stream", "buffer": b"0" * 7_600_000}])
    expect(pending(page)).to_have_count(0)
    expect(page.locator(".composer .error")).to_contain_text("too large")


def test_a_slash_lists_commands_and_completes_them(page):
    field = page.locator("#chat-input")
    field.focus()
    field.press_sequentially("/")
    menu = page.get_by_role("listbox", name="Commands")
    expect(menu).to_contain_text("/undo")
    field.press_sequentially("und")
    expect(menu.get_by_role("option")).to_have_count(1)
    field.press("Tab")
    expect(field).to_have_value("/undo")
    field.fill("/")
    field.press("Escape")
    expect(menu).to_have_count(0)
    expect(field).to_have_value("/")


def test_a_commands_answer_is_shown_and_is_no_turn(page):
    say(page, "/ping")
    expect(answers(page).last).to_contain_text("pong")
    expect(page.locator("#chat-messages .turn")).to_have_count(0)


def test_undo_takes_the_last_turn_back_in_every_tab(visit, model):
    one = visit()
    two = visit(thread="active")
    say(one, "keep")
    finished(one)
    say(one, "take back")
    expect(users(two).last).to_contain_text("take back")
    finished(one)
    say(two, "/undo")
    for page in (one, two):
        expect(page.locator("#chat-messages .turn")).to_have_count(1)
        expect(last_turn(page)).to_contain_text("keep")


def test_new_leads_to_a_new_thread(page):
    before = page.evaluate("currentThreadId")
    say(page, "/new")
    page.wait_for_function("id => currentThreadId !== id", arg=before)
