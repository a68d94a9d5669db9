"""The pictures of the README: taken at every run, kept when CHELA_PICTURES names a folder (docs/images)."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support import Chat
from support.scripts import call
from support.web import answers, open_thread, show

ANSWER = """The plot is **40 m²**, so 12 roses need about 36 litres a week:

| Bed | Roses | Litres |
| --- | ---: | ---: |
| South | 8 | 24 |
| North | 4 | 12 |

```python
def litres(roses: int, each: float = 3.0) -> float:
    return roses * each  # a week
```
"""
SHAPES = {
    "desktop": {"viewport": {"width": 1180, "height": 720}},
    "dark": {"viewport": {"width": 1180, "height": 720}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 760}, "has_touch": True},
}


@pytest.fixture(scope="module")
def garden(engine, module_model):
    for words in ("Plan the week", "Translate the letter to the notary", "Why does the build fail?"):
        module_model.set_script({"default": {"text": "Done."}})
        Chat(engine).say(words)
    module_model.set_script({"rules": [
        {"when": {"last_user_contains": "Write", "last_role": "user"}, "reply": {"tool_calls": [call("write_file", id="plan", path="watering.md", content="# Watering\n\n36 litres a week")]}},
        {"when": {"last_role": "tool"}, "reply": {"text": ANSWER}},
        {"when": {"last_role": "user"}, "reply": {"tool_calls": [call("calculator", id="sum", expression="12 * 3")]}}]})
    chat = Chat(engine)
    chat.say("How much water do my 12 roses need?")
    chat.say("Write that down for me.")
    return chat.thread


def keep(page, tmp_path, name):
    folder = Path(os.environ.get("CHELA_PICTURES", tmp_path))
    page.screenshot(path=folder / f"{name}.png", animations="disabled")
    assert 5_000 < (folder / f"{name}.png").stat().st_size < 300_000


@pytest.mark.parametrize("shape", SHAPES)
def test_picture_of_the_chat(visit, garden, tmp_path, shape):
    page = visit(thread="active", **SHAPES[shape])
    if shape == "phone":
        page.wait_for_function("id => currentThreadId === id", arg=garden)
    else:
        open_thread(page, garden)
    expect(page.locator(".approval-card")).to_be_visible()
    expect(answers(page).first.locator(".hljs-keyword").first).to_be_visible()
    keep(page, tmp_path, shape)


# A panel, and what is on it once it is there.
PANELS = {"settings": ".setting", "logs": ".log-entry", "usage": "#usage-models tbody th"}


@pytest.mark.parametrize("panel", PANELS)
def test_picture_of_a_panel(visit, engine, garden, tmp_path, panel):
    if panel == "logs":
        engine.api.put("/api/settings/agent.max_tool_iterations", json={"value": 40})
        engine.api.put("/api/logs/level", json={"level": "debug"})
        Chat(engine).say("And in July?")
    page = visit(thread="active", **SHAPES["desktop"])
    show(page, panel)
    expect(page.locator(PANELS[panel]).first).to_be_visible()
    keep(page, tmp_path, panel)
