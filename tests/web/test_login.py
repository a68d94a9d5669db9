"""Coming in: by link, by token, and not at all."""

from playwright.sync_api import expect

from support import Chat
from support.web import answers, connected, say


def test_a_link_logs_in_and_the_address_forgets_the_token(visit, engine):
    page = visit()
    assert engine.token not in page.url
    assert page.evaluate("sessionStorage.length") == 1 and engine.token not in page.evaluate("JSON.stringify(localStorage)")
    page.reload()
    connected(page)


def test_without_a_token_one_is_asked_for(visit, engine):
    page = visit(token="", ready=False)
    expect(page.locator("#auth-screen")).to_be_visible()
    expect(page.locator("#token-input")).to_be_focused()
    page.locator("#token-input").fill(engine.token)
    page.keyboard.press("Enter")
    connected(page)


def test_a_wrong_token_is_said_to_be_wrong(visit, engine):
    page = visit(token="chela_wrong", ready=False)
    expect(page.locator("#login-error")).to_contain_text("does not know this token")
    assert page.evaluate("sessionStorage.length") == 0


def test_logging_out_forgets(visit):
    page = visit()
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#auth-screen")).to_be_visible()
    page.reload()
    expect(page.locator("#auth-screen")).to_be_visible()


def test_the_page_is_compressed_kept_and_closed_to_others(engine):
    with engine.client(token="") as client:
        document = client.get("/")
        assert document.status_code == 200 and document.headers["content-encoding"] == "gzip"
        policy = document.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert document.headers["x-content-type-options"] == "nosniff"
        assert client.get("/", headers={"If-None-Match": document.headers["etag"]}).status_code == 304
        script = document.text.split('src="')[1].split('"')[0]
        asset = client.get(script)
        assert asset.headers["content-type"].startswith("text/javascript") and "immutable" in asset.headers["cache-control"]
        assert client.get("/assets/none.js").status_code == 404
        assert client.get("/assets/..%2fgateway.token").status_code == 404
        assert client.post("/").status_code == 405


def test_the_first_load_is_small_and_leaves_the_panels_for_later(page):
    """What the browser really fetched before anybody did anything, compressed."""
    files = page.evaluate("""[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter(each => !new URL(each.name).pathname.startsWith('/api/')).map(each => [new URL(each.name).pathname, each.encodedBodySize])""")
    assert 0 < sum(size for _, size in files) < 150_000, files
    names = " ".join(name for name, _ in files)
    assert names.count(".js") >= 1 and not any(panel in names for panel in ("Settings", "Memory", "Logs", "Usage"))


def test_the_page_is_shown_once_there_is_something_to_see(visit, engine, model):
    """A reader sees the conversation at once, not an empty one first."""
    Chat(engine).say("already here")
    page = visit(thread="active", ready=False)
    page.wait_for_selector("#auth-screen", state="hidden")
    assert page.locator("#chat-messages .message.user").count() == 1
    assert page.locator("#sse-status").text_content() == "Connected"


def test_a_stream_that_takes_over_is_no_loss(page):
    assert page.evaluate("""() => { eventSource.close(); connectSSE(); return document.getElementById('sse-status').textContent; }""") == "Connected"
    page.wait_for_function("() => eventSource.readyState === EventSource.OPEN")
    connected(page)


def test_an_engine_that_is_away_when_the_page_opens_is_said_to_be(visit):
    page = visit()
    page.route("**/api/**", lambda route: route.abort())
    page.reload()
    expect(page.locator("#sse-status")).to_have_text("Reconnecting…")
    expect(page.locator("#chat-input")).to_be_visible()
    page.unroute("**/api/**")
    connected(page)


def test_a_page_of_another_site_cannot_frame_it(engine):
    with engine.client(token="") as client:
        headers = client.get("/").headers
        assert headers["x-frame-options"] == "DENY" and "frame-ancestors 'none'" in headers["content-security-policy"]


def test_an_engine_that_comes_back_is_found_again(browser, own_engine):
    from support.web import Visit
    own_engine.start()
    own_engine.env["CHELA_GATEWAY_PORT"] = str(own_engine.port)
    visit = Visit(browser, own_engine)
    page = visit()
    say(page, "before")
    expect(answers(page).last).to_contain_text("before")
    own_engine.stop()
    expect(page.locator("#sse-dot")).to_have_class("waiting disconnected")
    own_engine.start()
    connected(page)
    say(page, "after")
    expect(answers(page).last).to_contain_text("after")
    visit.close()
