"""Settings, logs, usage, model, credentials."""

import datetime
import json
import re

import pytest
from playwright.sync_api import expect

from support import Chat
from support.scripts import tools_then, with_text
from support.web import answers, connected, finished, say, show


def test_only_parts_that_work_are_shown(page, engine):
    paths = engine.api.get("/openapi.json").json()["paths"]
    tabs = [each.get_attribute("data-tab") for each in page.locator(".tab-bar button").all()]
    needed = {"chat": "/api/chat/send", "memory": "/api/memory/tree", "jobs": "/api/chat/threads", "routines": "/api/bus/triggers",
              "extensions": "/api/tools", "skills": "/api/memory/search", "settings": "/api/settings", "logs": "/api/logs/events", "usage": "/api/usage"}
    assert tabs == [tab for tab, path in needed.items() if path in paths]


def test_a_setting_is_explained_changed_and_reset(page, engine):
    show(page, "settings")
    page.locator("#settings-search").fill("max_tool_iterations")
    row = page.locator('.setting[data-key="agent.max_tool_iterations"]')
    expect(row).to_contain_text("odel calls of one turn")
    row.locator("input").fill("7")
    row.locator(".save").click()
    expect(row.locator(".setting-notice")).to_be_visible()
    assert str(engine.api.get("/api/settings/agent.max_tool_iterations").json()["value"]) == "7"
    row.locator("input").fill("many")
    row.locator(".save").click()
    expect(row.locator(".error")).not_to_be_empty()
    row.locator(".reset").click()
    expect(row.locator("input")).not_to_have_value("7")


def test_a_secret_is_never_shown(page, engine):
    show(page, "settings")
    page.locator("#settings-search").fill("llm.api_key")
    expect(page.locator('.setting[data-key="llm.api_key"]')).to_contain_text("never shown")
    assert engine.env["LLM_API_KEY"] not in page.content()


def test_logs_come_in_are_filtered_paused_and_cleared(page, engine):
    show(page, "logs")
    entries = page.locator(".log-entry")
    expect(entries.first).to_be_visible()
    page.locator("#logs-search").fill("no line has this")
    expect(entries).to_have_count(0)
    page.locator("#logs-search").fill("")
    page.locator("#logs-pause").click()
    expect(page.locator("#logs-pause")).to_have_attribute("aria-pressed", "true")
    page.locator("#logs-clear").click()
    expect(entries).to_have_count(0)
    page.locator("#logs-pause").click()


def test_logs_have_levels_to_show_and_to_write(page, engine):
    show(page, "logs")
    entries = page.locator(".log-entry")
    expect(entries.first).to_contain_text("info")
    page.locator("#logs-level").select_option("error")
    expect(entries).to_have_count(0)
    page.locator("#logs-level").select_option("info")
    page.locator("#logs-search").fill("level was changed")
    before = entries.count()
    with page.expect_response("**/api/logs/level") as answered:
        page.locator("#logs-engine-level").select_option("debug")
    assert answered.value.ok and engine.api.get("/api/logs/level").json()["level"] == "debug"
    expect(entries).to_have_count(before + 1)
    page.reload()
    expect(page.locator("#logs-engine-level")).to_have_value("debug")


def test_settings_leave_in_a_file_and_come_back(page, engine):
    engine.api.put("/api/settings/agent.max_tool_iterations", json={"value": 9}).raise_for_status()
    show(page, "settings")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    text = download.value.path().read_text()
    assert json.loads(text)["settings"]["agent.max_tool_iterations"] == 9 and engine.env["LLM_API_KEY"] not in text
    engine.api.delete("/api/settings/agent.max_tool_iterations").raise_for_status()
    page.locator("#settings-file").set_input_files([{"name": "mine.json", "mimeType": "application/json", "buffer": text.encode()}])
    expect(page.get_by_role("status").filter(has_text="mine.json was imported")).to_be_visible()
    expect(page.locator('.setting[data-key="agent.max_tool_iterations"] input')).to_have_value("9")
    page.locator("#settings-file").set_input_files([{"name": "bad.json", "mimeType": "application/json", "buffer": b'{"settings": {"agent.busy": "perhaps"}}'}])
    expect(page.get_by_role("alert")).to_contain_text("agent.busy")
    engine.api.delete("/api/settings/agent.max_tool_iterations").raise_for_status()


def test_usage_has_a_chart_and_sums(page, engine, model):
    Chat(engine).say("count me")
    show(page, "usage")
    expect(page.locator("#usage-models tbody tr").first).to_contain_text("scripted")
    expect(page.locator("#usage-chart rect.read")).to_have_count(30)
    expect(page.locator(".usage .axis .most")).to_have_text(re.compile(r"^[1-9][0-9.kM]* tokens$"))
    first, last = (page.locator(f".usage .axis .{end}").inner_text() for end in ("first", "last"))
    assert datetime.date.fromisoformat(last) - datetime.date.fromisoformat(first) == datetime.timedelta(days=29)


@pytest.fixture
def two_models(engine, model):
    """A backend that lists a second model; the choice is taken back."""
    model.set_script({"more_models": ["second"]})
    yield
    engine.api.put("/api/models/active", json={"model": ""}).raise_for_status()


def test_the_model_of_the_next_turns_is_shown_and_chosen(page, engine, two_models):
    select = page.locator("#model-select")
    expect(select).to_have_value("scripted")
    select.focus()
    expect(select.locator("option")).to_have_text(["scripted", "second"])
    select.select_option("second")
    say(page, "which one")
    finished(page)
    expect(page.locator(".turn-tools").last).to_contain_text("second")
    page.reload()
    expect(select).to_have_value("second")
    say(page, "/model")
    expect(answers(page).last).to_contain_text("Active: second")
    # Back to the configured one: what is configured counts again.
    select.select_option("scripted")
    say(page, "/model")
    expect(answers(page).last).to_contain_text("Active: scripted")


def test_the_picker_follows_what_is_chosen_by_command_and_elsewhere(visit, engine, two_models):
    one = visit()
    two = visit(thread="active")
    say(one, "/model second")
    for page in (one, two):
        expect(page.locator("#model-select")).to_have_value("second")
    engine.api.put("/api/models/active", json={"model": ""}).raise_for_status()
    say(two, "who answers")
    finished(two)
    for page in (one, two):
        expect(page.locator("#model-select")).to_have_value("scripted")


def test_a_model_that_cannot_be_chosen_is_not_shown_as_chosen(visit, engine, two_models):
    token = engine.api.post("/api/tokens", json={"label": "reader", "permissions": ["chat:read"]}).json()["token"]
    page = visit(token=token, thread="active", ready=False)
    connected(page)
    select = page.locator("#model-select")
    select.select_option("second")
    expect(page.locator(".model-message")).to_contain_text("chat:write")
    expect(select).to_have_value("scripted")


@pytest.mark.parametrize("answer", ["give", "refuse"])
def test_a_credential_goes_to_the_vault_and_nowhere_else(page, engine, model, answer):
    model.set_script(tools_then("thanks", with_text("request_secret", {"name": f"service_{answer}", "reason": "to look"}, f"ask-{answer}")))
    say(page, "connect")
    card = page.locator(".auth-card")
    expect(card.locator("input.auth-token")).to_have_attribute("type", "password")
    if answer == "give":
        card.locator("input.auth-token").fill("very-secret-value")
        card.get_by_role("button", name="Save").click()
    else:
        card.locator(".auth-cancel").click()
    expect(card.locator(".auth-outcome")).not_to_be_empty()
    finished(page)
    assert "very-secret-value" not in page.content()
    assert all("very-secret-value" not in str(body) for body in model.bodies())
