"""Jobs, routines, extensions, skills: what works now, what runs by itself, what agents can use."""

import json

import pytest
from playwright.sync_api import expect
from websockets.sync.client import connect

from support import Chat
from support.scripts import HANG, call, tools_then
from support.waiting import DEADLINE
from support.web import finished, last_turn, show


class RawWorker:
    """A program on the bus, as bare frames."""

    def __init__(self, socket, name):
        self.socket = socket
        self.send(type="invokefunction", invocation_id="00000000-0000-4000-8000-000000000001", function_id="engine::workers::register",
                  data={"name": name, "description": "waters the garden"})

    def send(self, **frame):
        self.socket.send(json.dumps(frame))

    def settle(self):
        """Until all that was sent has been read."""
        self.send(type="ping")
        while json.loads(self.socket.recv(timeout=DEADLINE))["type"] != "pong":
            pass


@pytest.fixture
def worker(engine):
    with connect(f"ws://127.0.0.1:{engine.engine_file()['ports']['bus']}/?token={engine.token}") as socket:
        yield RawWorker(socket, "gardener")


def job(page, thread):
    return page.locator(f'.job-row[data-thread-id="{thread}"]')


def test_jobs_come_wait_and_go_while_one_looks(page, engine, model):
    show(page, "jobs")
    expect(page.locator("#jobs-empty")).to_be_visible()
    model.set_script(tools_then("done", call("write_file", id="j", path="job.txt", content="x")))
    chat = Chat(engine)
    chat.say("a job that asks")
    expect(job(page, chat.thread)).to_contain_text("waits for your approval")
    chat.decide(chat.history()["pending_approval"]["request_id"], "deny")
    expect(page.locator("#jobs-empty")).to_be_visible()


def test_a_job_is_stopped_from_the_list(page, engine, model):
    model.set_script({"default": HANG})
    show(page, "jobs")
    chat = Chat(engine)
    chat.send("never ends")
    job(page, chat.thread).locator(".stop").click()
    expect(page.locator("#jobs-empty")).to_be_visible()
    assert chat.turns()[-1]["state"] == "interrupted"


def test_a_job_leads_to_its_thread(page, engine, model):
    model.set_script({"default": HANG})
    show(page, "jobs")
    chat = Chat(engine)
    chat.send("look at me")
    job(page, chat.thread).locator(".open").click()
    expect(last_turn(page)).to_contain_text("look at me")
    page.keyboard.press("Escape")
    finished(page, "interrupted")


def test_routines_are_the_triggers_of_the_bus(page, worker):
    show(page, "routines")
    expect(page.locator("#routines-empty")).to_be_visible()
    worker.send(type="registerfunction", id="garden::water")
    worker.send(type="registertrigger", id="mornings", trigger_type="engine::workers-available", function_id="garden::water", config={"note": "<b>at six</b>"})
    worker.send(type="registertrigger", id="later", trigger_type="garden::rain", function_id="garden::water", config={})
    worker.settle()
    page.get_by_role("button", name="Refresh").click()
    row = page.locator('.routine-row[data-trigger-id="later"]')
    expect(row).to_contain_text("garden::water")
    expect(row).to_contain_text("gardener")
    expect(row).to_contain_text("waits for a provider")


def test_extensions_are_tools_and_workers(page, worker):
    worker.send(type="registerfunction", id="garden::water", description="waters")
    worker.settle()
    show(page, "extensions")
    page.locator("#tools-search").fill("calculator")
    card = page.locator('#tools-list .ext-card[data-tool="calculator"]')
    expect(page.locator("#tools-list .ext-card")).to_have_count(1)
    card.locator("summary").click()
    expect(card.locator("pre")).to_contain_text('"expression"')
    page.locator("#tools-search").fill("no tool has this")
    expect(page.locator("#tools-list")).to_contain_text("No tool fits")
    card = page.locator('#workers-list .ext-card[data-worker="gardener"]')
    expect(card).to_contain_text("waters the garden")
    card.locator("summary").click()
    expect(card).to_contain_text("garden::water")


def test_a_token_without_the_bus_still_sees_the_tools(visit, engine):
    token = engine.api.post("/api/tokens", json={"label": "no bus", "permissions": ["chat:read", "chat:write"]}).json()["token"]
    page = visit(token=token)
    show(page, "extensions")
    expect(page.locator('.ext-card[data-tool="calculator"]')).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("bus:call")


def test_a_skill_is_made_found_and_opened(page, engine):
    show(page, "skills")
    expect(page.locator("#skills-list")).to_contain_text("No skills yet")
    page.locator("#skill-new").click()
    page.locator("#ask-input").fill("../../etc")
    expect(page.locator("#ask-done")).to_be_disabled()
    page.locator("#ask-input").fill("pruning")
    page.locator("#ask-done").click()
    expect(page.locator("#memory-path")).to_have_text("skills/pruning/SKILL.md")
    page.locator("#memory-edit").click()
    page.locator("#memory-editor").fill("# Pruning\n\nCut the roses in February.")
    page.locator("#memory-save").click()
    expect(page.locator("#memory-content")).to_contain_text("February")
    engine.api.post("/api/memory/write", json={"path": "notes/roses.md", "content": "The roses are red in February."})
    show(page, "skills")
    expect(page.locator("#skills-list .ext-card")).to_have_count(1)
    page.locator("#skill-search-input").fill("roses february")
    page.locator("#skill-search-input").press("Enter")
    found = page.locator("#skill-search-results .skill-search-result")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("pruning")
    page.locator("#skill-search-input").fill("prun")
    page.locator("#skill-search-input").press("Enter")
    expect(found).to_have_count(1)
    found.click()
    expect(page.locator("#memory-content")).to_contain_text("Cut the roses")


def test_an_agent_finds_a_skill_when_it_fits(engine, model):
    """What the panel says of skills is true: the text reaches the model."""
    engine.api.post("/api/memory/write", json={"path": "skills/compost/SKILL.md", "content": "# Compost\n\nTurn the compost heap every third week."}).raise_for_status()
    Chat(engine).say("How often do I turn the compost heap?")
    assert "every third week" in str(model.bodies()[-1])
