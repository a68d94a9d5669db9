"""What the Python tests share: the real program, a scripted model, and ways to talk to both."""

from support.chat import Chat
from support.engine import Engine
from support.model import ScriptedModel
from support.waiting import wait_until

__all__ = ["Chat", "Engine", "ScriptedModel", "wait_until"]
