"""Every attack ends with an engine that lives and serves others."""

import pytest


@pytest.fixture(autouse=True)
def still_alive(engine):
    pid = engine.pid
    yield
    assert engine.running() and engine.pid == pid
    assert engine.api.get("/readyz").status_code == 200
