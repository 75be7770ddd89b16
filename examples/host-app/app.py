"""A host app: a shop assistant with two tools, whose chats are kept in a file and go on at the next start.

python app.py "How many kettles are left?"                                          # offline, with dry-run
python app.py --base-url http://localhost:11434/v1 --model qwen3 "Any pots left?"   # with a server
python app.py --provider openai --model gpt-5 "Any pots left?"                      # with OPENAI_API_KEY
python app.py --provider gemini --model gemini-2.5-flash "And whisks?"              # with GEMINI_API_KEY
"""

from __future__ import annotations

import argparse
import asyncio
from datetime import date
from typing import Annotated

from pydantic import Field

from trimtab import Config
from trimtab.continuation import FallbackNotice
from trimtab.host import Host
from trimtab.snapshot import ContextSnapshot
from trimtab.turns.events import ToolResultReady, TurnCompleted, TurnFailed
from trimtab_sdk import TextDelta

OWNER = "shop"
SYSTEM = "You help in a kitchen shop. Look things up before you answer, and be brief."
SHELVES = {"kettle": 7, "pot": 0, "whisk": 31}
# What dry-run calls when it is offered these tools: it has no model that could decide.
PRETENDED_CALLS = [{"name": "stock", "arguments": {"article": "kettle"}}, {"name": "next_delivery"}]


async def stock(article: Annotated[str, Field(description="one thing, in the singular")]) -> int:
    """Tell how many pieces of an article are left."""
    if article not in SHELVES:
        raise ValueError(f"there is no {article}; there are {', '.join(SHELVES)}")
    return SHELVES[article]


async def next_delivery() -> str:
    """Tell when the next delivery comes, as a date."""
    return date(2031, 5, 6).isoformat()


def configuration(provider: str, base_url: str) -> Config:
    settings = {"tool_calls": PRETENDED_CALLS} if provider == "dry-run" else {}
    return Config(providers={provider: {"base_url": base_url, "settings": settings}})


async def find_chat(host: Host, provider: str, model: str) -> str:
    """Give the last chat, or a new one. A chat may go on with another provider and another model."""
    for chat in await host.chats(owner=OWNER, limit=1):
        await host.update_chat(chat.id, owner=OWNER, provider=provider, model=model)
        return chat.id
    chat = await host.create_chat(owner=OWNER, provider=provider, model=model, system=SYSTEM)
    return chat.id


async def ask(host: Host, chat_id: str, question: str) -> bool:
    """Ask, print the answer as it comes, and tell whether it came."""
    async for event in host.turn(chat_id, question, owner=OWNER):
        match event:
            case TextDelta(text):
                print(text, end="", flush=True)
            case FallbackNotice():
                print(f"[{event.to_dict()['message']}]")
            case ToolResultReady():
                print(f"[{event.name}: {event.text}]")
            case TurnCompleted():
                print(f"\n[{in_words(event.snapshot)}]")
            case TurnFailed():
                print(f"\n[{event.code}] {event.message}")
                return False
    return True


def in_words(snapshot: ContextSnapshot) -> str:
    return f"{snapshot.tokens:,} of {snapshot.context_limit or snapshot.budget:,} tokens, {snapshot.severity}"


async def main() -> int:
    options = read_options()
    config = configuration(options.provider, options.base_url)
    async with Host(options.store, config, tools=[stock, next_delivery]) as host:
        chat_id = await find_chat(host, options.provider, options.model)
        return 0 if await ask(host, chat_id, options.question) else 1


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Ask a shop assistant.")
    parser.add_argument("question")
    providers = ["dry-run", "openai", "gemini", "openai-compatible"]
    parser.add_argument("--provider", choices=providers, help="by default nothing is sent anywhere")
    parser.add_argument(
        "--base-url", default="", help="another address; alone, that of an OpenAI-compatible server"
    )
    parser.add_argument("--model", default="gpt-4o")
    parser.add_argument("--store", default="shop.db", help="the file that keeps the chat")
    options = parser.parse_args()
    options.provider = options.provider or ("openai-compatible" if options.base_url else "dry-run")
    return options


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
