"""Hostile text from users, models and tools: shown, never run, and nothing is fetched for it."""

import pytest
from playwright.sync_api import expect

from support.scripts import call, tools_then
from support.web import answers, finished, last_turn, say, users

ATTACKS = [
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1">',
    '<img src="https://elsewhere.invalid/pixel.png">',
    "![pixel](https://elsewhere.invalid/pixel.png?user=1)",
    '<svg><script>window.hacked = 1</script><animate onbegin="window.hacked = 1"/></svg>',
    '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>',
    '<iframe src="javascript:parent.hacked = 1"></iframe>',
    "[click](javascript:window.hacked=1) <a href='javascript:window.hacked = 1'>click</a>",
    '<form action="/api/chat/send" method="post"><input name="content" autofocus onfocus="window.hacked = 1"></form>',
    '<style>* { display: none }</style><link rel="stylesheet" href="https://elsewhere.invalid/x.css">',
    '<div id="chat-input" class="approval-card" style="position:fixed;inset:0;background:url(https://elsewhere.invalid/b)">over all</div>',
    '<base href="https://elsewhere.invalid/"><meta http-equiv="refresh" content="0;url=https://elsewhere.invalid/">',
    '<video src="https://elsewhere.invalid/v" autoplay onerror="window.hacked = 1"></video>',
    '<p title="`<img src=x onerror=window.hacked=1>`">text</p>',
]
EVERYTHING = "content before\n\n" + "\n\n".join(ATTACKS) + "\n\nand after"
# What no message may hold, however it came there.
FORBIDDEN = "script, style, iframe, svg script, form, input, object, embed, link, meta, base, video, audio, [onerror], [onload], [style], [srcdoc]"


@pytest.fixture
def hostile(visit):
    page = visit()
    yield page
    assert page.evaluate("window.hacked") is None
    messages = page.locator("#chat-messages")
    assert messages.locator(f":is(.message, .tool-card, .approval-params) :is({FORBIDDEN})").count() == 0
    assert page.locator("#chat-messages img").count() == 0
    expect(page.locator("#chat-input")).to_have_count(1)
    expect(page.locator("#chat-input")).to_be_visible()
    visit.forgive_the_policy()


def test_in_a_models_text(hostile, model):
    model.set_script({"default": {"text": EVERYTHING}})
    say(hostile, "attack")
    finished(hostile)
    text = answers(hostile).last.inner_text()
    assert "content before" in text and "and after" in text
    for link in answers(hostile).last.locator("a[href]").all():
        assert link.get_attribute("href").startswith("https://") and "noopener" in link.get_attribute("rel")
    hostile.reload()
    finished(hostile)


def test_in_pieces_of_a_models_text(hostile, model):
    model.set_script({"default": {"text": EVERYTHING, "chunk_bytes": 3}})
    say(hostile, "attack")
    finished(hostile)
    expect(answers(hostile).last).to_contain_text("and after")


def test_in_a_users_text(hostile, model):
    model.set_script({"default": {"text": "fine"}})
    say(hostile, EVERYTHING)
    finished(hostile)
    assert users(hostile).last.inner_text() == EVERYTHING
    assert users(hostile).last.locator("*").count() == 0


def test_in_a_tools_arguments_and_result(hostile, model):
    model.set_script(tools_then("done", call("echo", id="e", message=EVERYTHING)))
    say(hostile, "echo")
    finished(hostile)
    card = last_turn(hostile).locator(".tool-card")
    card.locator("summary").click()
    expect(card.locator(".tool-result")).to_contain_text("<script>")
    expect(card.locator(".tool-arguments")).to_contain_text("<script>")


def test_in_a_question(hostile, model):
    model.set_script(tools_then("done", call("write_file", id="w", path="x.txt", content=EVERYTHING)))
    say(hostile, "write")
    card = hostile.locator(".approval-card")
    card.locator(".approval-params-toggle").click()
    expect(card.locator(".approval-params")).to_contain_text("<script>")
    card.locator("button.deny").click()
    finished(hostile)


def test_a_picture_elsewhere_is_a_link_that_only_a_person_follows(visit, model):
    model.set_script({"default": {"text": "![a cat](https://elsewhere.invalid/cat.png)"}})
    page = visit()
    say(page, "cat")
    link = answers(page).last.locator("a.image-elsewhere")
    expect(link).to_contain_text("elsewhere.invalid")
    finished(page)
    assert visit.complaints == []


def test_the_policy_stops_what_the_page_itself_would_be_tricked_into(visit):
    page = visit()
    page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 1';
        document.body.append(script);
        const image = new Image();
        image.src = 'https://elsewhere.invalid/x.png';
        document.body.append(image);
    }""")
    page.wait_for_function("() => performance.now() > 0")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("fetch('https://elsewhere.invalid/').then(() => 'sent', () => 'refused')") == "refused"
    visit.forgive_the_policy()
