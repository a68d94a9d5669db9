"""Documents on the page: tree, search, reading, editing."""

from playwright.sync_api import expect

from support.web import show


def test_a_document_is_found_read_changed_and_made(visit, engine):
    page = visit()
    engine.api.post("/api/memory/write", json={"path": "notes/garden.md", "content": "# Garden\n\nThe roses need water.<img src=x onerror=alert(1)>"})
    engine.api.post("/api/memory/write", json={"path": "MEMORY.md", "content": "facts"})
    page.locator('.tab-bar button[data-tab="memory"]').click()
    tree = page.locator("#memory-tree")
    expect(tree).to_contain_text("garden.md")
    tree.get_by_role("button", name="notes").click()
    expect(tree).not_to_contain_text("garden.md")
    tree.get_by_role("button", name="notes").click()
    tree.get_by_role("button", name="garden.md").click()
    expect(page.locator("#memory-content h1")).to_have_text("Garden")
    assert page.locator("#memory-content img").count() == 0
    visit.forgive_the_policy()
    page.locator("#memory-edit").click()
    page.locator("#memory-editor").fill("# Garden\n\nThe roses had water.")
    page.locator("#memory-save").click()
    expect(page.locator("#memory-content")).to_contain_text("had water")
    assert engine.api.get("/api/memory/read", params={"path": "notes/garden.md"}).json()["content"].endswith("had water.")

    page.locator("#memory-search").fill("roses")
    page.locator("#memory-search").press("Enter")
    expect(page.locator("#memory-results")).to_contain_text("notes/garden.md")

    page.locator("#memory-new").click()
    name, done = page.locator("#ask-input"), page.locator("#ask-done")
    expect(name).to_be_focused()
    expect(name).to_have_value("notes/new.md")
    for wrong in ("", "/notes/a.md", "notes/", "a//b.md", "a/../b.md", "notes/garden.md"):
        name.fill(wrong)
        expect(done).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("#memory-new").click()
    name.fill("notes/new one.md")
    name.press("Enter")
    page.locator("#memory-editor").fill("fresh")
    page.locator("#memory-save").click()
    expect(page.locator("#memory-path")).to_have_text("notes/new one.md")
    assert engine.api.get("/api/memory/read", params={"path": "notes/new one.md"}).json()["content"] == "fresh"


def test_changes_are_not_left_unasked(page, engine):
    for path in ("a.md", "b.md"):
        engine.api.post("/api/memory/write", json={"path": f"leave/{path}", "content": f"this is {path}"})
    show(page, "memory")
    page.locator("#memory-tree").get_by_role("button", name="a.md").click()
    page.locator("#memory-edit").click()
    page.locator("#memory-editor").fill("changed")
    page.locator("#memory-tree").get_by_role("button", name="b.md").click()
    expect(page.get_by_role("dialog")).to_contain_text("Leave the changes of leave/a.md?")
    page.locator("#ask-cancel").click()
    expect(page.locator("#memory-editor")).to_have_value("changed")
    page.locator("#memory-tree").get_by_role("button", name="b.md").click()
    page.locator("#ask-done").click()
    expect(page.locator("#memory-content")).to_contain_text("this is b.md")
    assert engine.api.get("/api/memory/read", params={"path": "leave/a.md"}).json()["content"] == "this is a.md"


def test_the_tab_is_in_the_address(page):
    page.locator('.tab-bar button[data-tab="memory"]').click()
    assert page.url.endswith("#memory")
    page.reload()
    expect(page.locator("#tab-memory")).to_be_visible()
