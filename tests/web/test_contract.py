"""Names that scripts of others find on the page (docs/contracts.md)."""

from playwright.sync_api import expect

from support.web import answers, connected, finished, say, users


def test_the_global_names(page):
    kinds = page.evaluate("[typeof addMessage, typeof showApproval, typeof connectSSE, typeof currentThreadId, eventSource.constructor.name]")
    assert kinds == ["function", "function", "function", "string", "EventSource"]


def test_add_message_adds_one(page):
    page.evaluate("addMessage('user', '<b>plain</b>'); addMessage('assistant', '**strong**')")
    expect(users(page).last).to_contain_text("<b>plain</b>")
    expect(answers(page).last.locator("strong")).to_have_text("strong")


def test_show_approval_shows_one(page):
    page.evaluate("showApproval({request_id: 'a-1', thread_id: currentThreadId, tool_name: 'shell', description: 'Execute: ls', parameters: '{\"command\": \"ls\"}'})")
    card = page.locator('.approval-card[data-request-id="a-1"]')
    expect(card.locator(".approval-header")).to_have_text("Tool requires approval")
    expect(card.locator(".approval-tool-name")).to_have_text("shell")
    expect(card.locator(".approval-description")).to_contain_text("Execute: ls")
    assert [card.locator(f".approval-actions button.{name}").count() for name in ("approve", "always", "deny")] == [1, 1, 1]
    expect(card.locator(".approval-params")).to_be_hidden()


def test_the_connection_can_be_cut_and_made_again(page):
    say(page, "before")
    finished(page)
    page.evaluate("eventSource.close(); eventSource = null; connectSSE()")
    connected(page)
    expect(page.locator("#sse-dot")).to_be_visible()
    expect(users(page)).to_have_count(1)
    say(page, "after")
    expect(answers(page).last).to_contain_text("after")


def test_ids_and_classes(page):
    for name in ("sse-status", "sse-dot", "chat-input", "chat-messages", "tab-chat"):
        expect(page.locator(f"#{name}")).to_have_count(1)
    for tab in page.locator(".tab-bar button[data-tab]").all():
        name = tab.get_attribute("data-tab")
        tab.click()
        expect(page.locator(f"#tab-{name}")).to_be_visible()


def test_the_parts_that_ironclaws_tests_walk_through(page):
    for name in ("chat", "memory", "jobs", "routines", "extensions", "skills"):
        page.locator(f'.tab-bar button[data-tab="{name}"]').click()
        expect(page.locator(f"#tab-{name}")).to_be_visible()
    expect(page.locator("#skill-search-input")).to_be_visible()


def test_the_policy_leaves_expressions_of_a_waiting_test_alone(page):
    """A test that waits for a text of code may be evaluated once only: the policy forbids it later. What it waits for is there at once."""
    page.evaluate("if (eventSource) eventSource.close()")
    page.evaluate("connectSSE()")
    page.wait_for_function('document.getElementById("sse-status").textContent === "Connected"')
