"""Official clients against one engine a file."""

import openai
import pytest


@pytest.fixture
def client(engine, model):
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0, timeout=60) as made:
        yield made
