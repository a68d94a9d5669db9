"""Engines that give up on a silent model soon and do not try again, so that each fault is seen as it is."""

import pytest


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LLM_STALL_TIMEOUT": "1s", "CHELA_LLM_MAX_RETRIES": "0"}


@pytest.fixture(autouse=True)
def still_alive(request, engine):
    """After every fault the engine lives, says so, and answers the next message."""
    pid = engine.pid
    yield
    assert engine.running() and engine.pid == pid
    assert engine.api.get("/readyz").status_code == 200
