"""Fixtures of all Python tests. An engine and a model are shared by the tests of one file; each test takes threads of its own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support import Chat, Engine, ScriptedModel  # noqa: E402
from support import engine as engines  # noqa: E402


@pytest.fixture(scope="module")
def module_model():
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def model(module_model):
    """The model of this file's engine, with the echoing script and no requests."""
    module_model.set_script({})
    return module_model


@pytest.fixture(scope="module")
def engine_env():
    """A file that needs other settings overrides this."""
    return {}


@pytest.fixture(scope="module")
def engine(tmp_path_factory, module_model, engine_env):
    made = Engine(tmp_path_factory.mktemp("home"), env=engine_env, model_port=module_model.port)
    with made:
        yield made


@pytest.fixture
def own_engine(tmp_path, model):
    """An engine that is this test's alone, not started yet: for what stops, breaks or configures it."""
    made = Engine(tmp_path / "home", model_port=model.port)
    yield made
    made.close()


@pytest.fixture
def chat(engine, model):
    """A new thread, with the model's script reset."""
    return Chat(engine)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for each in engines.live:
            report.sections.append((f"engine at {each.home}", each.log_tail()))
