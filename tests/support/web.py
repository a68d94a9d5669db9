"""The web page in a browser, in a test's words."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from support.waiting import DEADLINE

expect.set_options(timeout=DEADLINE * 1000)


class Visit:
    """Pages of one engine. Each is a browser of its own: nothing is shared."""

    def __init__(self, browser, engine):
        self.browser, self.engine = browser, engine
        self._home = urlsplit(engine.base_url).netloc  # kept: the engine may be stopped while its page still asks
        self._contexts, self._complaints = [], []

    def __call__(self, path="/", thread=None, token=None, ready=True, **options):
        """A page on a new thread, or on `thread`; "active" leaves it to the engine."""
        if ready and thread is None:
            self.engine.api.post("/api/chat/thread/new", json={}).raise_for_status()
        context = self._context(options)
        page = context.new_page()
        page.on("pageerror", lambda error: self._complaints.append(f"error in the page: {error}"))
        page.on("console", self._heard)
        page.on("request", lambda request: self._asked(request.url))
        page.on("requestfailed", self._failed)
        token = self.engine.token if token is None else token
        page.goto(f"{self.engine.base_url}{path}" + (f"?token={token}" if token else ""))
        if ready:
            connected(page)
            page.wait_for_function("() => currentThreadId !== null")
        if thread not in (None, "active"):
            open_thread(page, thread)
        return page

    def _context(self, options):
        context = self.browser.new_context(base_url=self.engine.base_url, **options)
        context.set_default_timeout(DEADLINE * 1000)
        self._contexts.append(context)
        return context

    def _heard(self, message):
        if "Content Security Policy" in message.text:
            self._complaints.append(message.text)

    def _asked(self, url):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != self._home:
            self._complaints.append(f"asked another host: {url}")

    def _failed(self, request):
        """The browser reports a request that the policy stopped too: nobody was asked."""
        if "csp" in (request.failure or "").lower():
            self._complaints[:] = [each for each in self._complaints if each != f"asked another host: {request.url}"]

    @property
    def complaints(self):
        return self._complaints

    def forgive_the_policy(self):
        """For a test that brings hostile text: parsing it makes the browser say what it would have refused, but nobody is asked."""
        self._complaints[:] = [each for each in self._complaints if "Content Security Policy" not in each]

    def close(self):
        for context in self._contexts:
            context.close()
        assert not self._complaints, self._complaints


def connected(page):
    expect(page.locator("#sse-status")).to_have_text("Connected")


def open_thread(page, thread):
    """Shows a thread and waits until its history is there."""
    page.locator(f'#thread-list li[data-thread-id="{thread}"] button.thread').click()
    page.wait_for_function("id => currentThreadId === id", arg=thread)
    expect(page.locator(f'#thread-list li.active[data-thread-id="{thread}"]')).to_be_visible()


def show(page, tab):
    page.locator(f'.tab-bar button[data-tab="{tab}"]').click()


def rows(page):
    """The threads of the list, without the pinned one."""
    return page.locator('#thread-list li[data-thread-id]:not([data-thread-type="assistant"])')


def say(page, text):
    page.locator("#chat-input").fill(text)
    page.locator("#chat-input").press("Enter")


def users(page):
    return page.locator("#chat-messages .message.user .message-content")


def answers(page):
    return page.locator("#chat-messages .message.assistant .message-content")


def last_turn(page):
    return page.locator("#chat-messages .turn").last


def finished(page, state="completed"):
    """Waits until the last turn has ended so."""
    expect(last_turn(page)).to_have_attribute("data-state", state)


def needs(engine, method, path):
    """Skips a test of what this engine has no route for."""
    if method not in engine.api.get("/openapi.json").json()["paths"].get(path, {}):
        pytest.skip(f"this engine has no {method.upper()} {path}")


# Keeps every text that the last answer ever showed: what the end would hide is seen too.
WATCH_ANSWER = """() => {
  window.seenTexts = [];
  new MutationObserver(() => {
    const all = document.querySelectorAll('#chat-messages .message.assistant .message-content');
    if (all.length > 0) window.seenTexts.push(all[all.length - 1].textContent.trim());
  }).observe(document.getElementById('app'), {childList: true, subtree: true, characterData: true});
}"""


def assert_only_grew(page, whole):
    """No text that was shown had lost or doubled a character."""
    seen = page.evaluate("window.seenTexts")
    assert seen, "nothing was seen"
    for text in seen:
        assert whole.startswith(text), f"{text!r} is not how {whole!r} begins"
