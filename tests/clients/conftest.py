"""Official clients against one engine a file, or one a file and protocol."""

import openai
import pytest

from support import ScriptedModel
from support.upstreams import PROTOCOLS, Upstream, engine_of


@pytest.fixture
def client(engine, model):
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture(scope="module", params=PROTOCOLS)
def running_upstream(request, tmp_path_factory):
    with ScriptedModel() as model, engine_of(request.param, tmp_path_factory.mktemp("home"), model.port) as engine:
        yield Upstream(request.param, engine, model)


@pytest.fixture
def upstream(running_upstream):
    """An engine in front of the scripted model over one protocol, with the echoing script and no requests."""
    running_upstream.model.set_script({})
    return running_upstream
