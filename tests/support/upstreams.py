"""Engines in front of the scripted model, over each protocol that models are asked by; configured by the environment alone."""

from support.engine import API_KEY, MODEL, Engine

# Of a protocol: the environment that leads to the scripted model, given its address without a version.
PROTOCOLS = {
    "openai_chat": lambda at: {"LLM_BACKEND": "openai", "OPENAI_API_KEY": API_KEY, "OPENAI_BASE_URL": f"{at}/v1",
                               "OPENAI_MODEL": MODEL},
    "openai_responses": lambda at: {"LLM_BACKEND": "openai_responses", "OPENAI_API_KEY": API_KEY,
                                    "OPENAI_BASE_URL": f"{at}/v1", "OPENAI_MODEL": MODEL},
    "anthropic": lambda at: {"LLM_BACKEND": "anthropic", "ANTHROPIC_API_KEY": API_KEY, "ANTHROPIC_BASE_URL": at,
                             "ANTHROPIC_MODEL": MODEL},
    "gemini": lambda at: {"LLM_BACKEND": "gemini", "GEMINI_API_KEY": API_KEY, "GEMINI_BASE_URL": at, "GEMINI_MODEL": MODEL},
    "ollama": lambda at: {"LLM_BACKEND": "ollama", "OLLAMA_BASE_URL": at, "OLLAMA_MODEL": MODEL},
    "bedrock": lambda at: {"LLM_BACKEND": "bedrock", "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": API_KEY,
                           "BEDROCK_REGION": "eu-central-1", "BEDROCK_BASE_URL": at, "BEDROCK_MODEL": MODEL},
    "nearai": lambda at: {"LLM_BACKEND": "nearai", "NEARAI_API_KEY": API_KEY, "NEARAI_BASE_URL": at, "NEARAI_MODEL": MODEL},
}

# Where a call of each protocol arrives.
PATHS = {
    "openai_chat": "/v1/chat/completions", "openai_responses": "/v1/responses", "anthropic": "/v1/messages",
    "gemini": f"/v1beta/models/{MODEL}:streamGenerateContent", "ollama": "/api/chat",
    "bedrock": f"/model/{MODEL}/converse-stream", "nearai": "/v1/chat/completions",
}

NO_CACHED_TOKENS = {"ollama"}  # does not tell them
NO_KEY = {"ollama"}


class Upstream:
    """A protocol, the scripted model that speaks it and the engine that asks it."""

    def __init__(self, protocol, engine, model):
        self.protocol, self.engine, self.model = protocol, engine, model

    def asked(self):
        """What the model was asked so far, each {path, headers, body}."""
        return self.model.requests(PATHS[self.protocol])

    @property
    def tells_cached_tokens(self):
        return self.protocol not in NO_CACHED_TOKENS


def engine_of(protocol, home, model_port):
    """Not started yet."""
    return Engine(home, env=PROTOCOLS[protocol](f"http://127.0.0.1:{model_port}"))
