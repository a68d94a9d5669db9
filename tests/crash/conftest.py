"""An engine that may die at a named record, and the client that drives it."""

import pytest

from crash.driver import SCRIPT, Client
from support import Engine


@pytest.fixture
def start(tmp_path, model):
    model.set_script(SCRIPT)
    engines = []

    def begin(point=None, **env):
        engine = Engine(tmp_path / "home", env=env | ({"CHELA_CRASH_AT": point} if point else {}), model_port=model.port)
        engines.append(engine)
        engine.start()
        return Client(engine)

    yield begin
    for engine in engines:
        engine.close()
