"""Files that come with messages."""

import base64

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)


def attachment(name, data, media_type="application/octet-stream"):
    return {"name": name, "media_type": media_type, "data": base64.b64encode(data).decode()}


@pytest.fixture(scope="module")
def engine_env():
    return {"LLM_MODEL": "gpt-4o-scripted"}  # the catalog knows that gpt-4o sees images


def workspace(engine):
    return engine.home / "workspace" / "default"


def last_user(model):
    return next(m for m in reversed(model.bodies()[-1]["messages"]) if m["role"] == "user")


def test_a_text_is_read_saved_and_listed(engine, chat, model):
    accepted = chat.send("what is in it?", attachments=[attachment("../../todo.txt", b"buy milk", "text/plain")])
    assert chat.wait(accepted["turn_id"])["state"] == "completed"
    assert "buy milk" in last_user(model)["content"]
    listed = chat.last()["attachments"]
    path = f"uploads/{accepted['message_id']}/todo.txt"
    assert listed == [{"name": "todo.txt", "media_type": "text/plain", "size": 8, "path": path}]
    assert (workspace(engine) / path).read_bytes() == b"buy milk"
    assert chat.last()["user_input"] == "what is in it?"


def test_an_image_goes_to_the_model_as_one(chat, model):
    accepted = chat.send("", attachments=[attachment("a.png", PNG)])
    assert chat.wait(accepted["turn_id"])["state"] == "completed"
    content = last_user(model)["content"]
    url = next(part for part in content if part["type"] == "image_url")["image_url"]["url"]
    assert url == "data:image/png;base64," + base64.b64encode(PNG).decode()
    report = chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()
    assert report["differences"] == []


def test_a_large_message_is_taken_and_a_larger_one_refused(chat):
    accepted = chat.send("big", attachments=[attachment("a.bin", bytes(6_000_000))])
    assert chat.wait(accepted["turn_id"])["state"] == "completed"
    answer = chat.api.post("/api/chat/send", json={"content": "x", "thread_id": chat.thread,
                                                   "attachments": [attachment("a.bin", bytes(7_500_000))]})
    assert answer.status_code == 413, answer.text


@pytest.mark.parametrize("files", [[attachment(str(n), b"x") for n in range(9)], [{"name": "a"}], [{"name": "a", "data": "*"}], "a"])
def test_what_is_no_list_of_files_is_refused(chat, model, files):
    answer = chat.api.post("/api/chat/send", json={"content": "x", "thread_id": chat.thread, "attachments": files})
    assert answer.status_code in (400, 422), answer.text
    assert model.requests() == []


def test_a_link_in_the_workspace_leads_nowhere(own_engine, model, tmp_path):
    own_engine.start()
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace(own_engine).mkdir(parents=True, exist_ok=True)
    (workspace(own_engine) / "uploads").symlink_to(outside)
    answer = own_engine.api.post("/api/chat/send", json={"content": "x", "attachments": [attachment("a.txt", b"x")]})
    assert answer.status_code == 403, answer.text
    assert list(outside.iterdir()) == [] and model.requests() == []
