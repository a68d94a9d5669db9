"""The official `openai` client asks for embeddings, whatever protocol makes them."""

import openai
import pytest

WITHOUT = {"anthropic", "bedrock"}


@pytest.fixture
def client(upstream):
    engine = upstream.engine
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture
def embed(client, upstream):
    if upstream.protocol in WITHOUT:
        pytest.skip("has no embeddings; see test_a_provider_without_embeddings_says_so")
    return lambda said, **more: client.embeddings.create(model="scripted", input=said, **more)


def test_texts_become_vectors(embed):
    answer = embed(["a crab", "a crab", "nothing"])
    assert [each.index for each in answer.data] == [0, 1, 2] and answer.model == "scripted"
    assert answer.data[0].embedding == answer.data[1].embedding != answer.data[2].embedding
    assert len(answer.data[0].embedding) == 64
    assert answer.usage.prompt_tokens > 0 and answer.usage.total_tokens == answer.usage.prompt_tokens


def test_one_text_as_floats_and_as_base64(embed):
    as_text = embed("a crab and a claw").data[0].embedding  # which this client asks for as base64
    as_floats = embed("a crab and a claw", encoding_format="float").data[0].embedding
    assert as_text == pytest.approx(as_floats, abs=1e-6)


def test_dimensions(embed):
    assert len(embed("a crab", dimensions=7).data[0].embedding) == 7


def test_a_provider_without_embeddings_says_so(client, upstream):
    if upstream.protocol not in WITHOUT:
        pytest.skip("has embeddings")
    with pytest.raises(openai.APIStatusError) as caught:
        client.embeddings.create(model="scripted", input="x")
    assert caught.value.status_code == 501 and "has no embeddings" in caught.value.body["message"]


def test_tokens_are_refused(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model="scripted", input=[1, 2, 3])
    assert caught.value.param == "input[0]" and "send the text" in caught.value.body["message"]


def test_what_the_provider_refuses(embed):
    with pytest.raises(openai.BadRequestError):
        embed("x", dimensions=5000)
