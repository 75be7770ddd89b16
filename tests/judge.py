"""An independent count of chat requests: the published recipe over the official ranks."""

from __future__ import annotations

import base64
import gzip
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken_ext import openai_public

PATTERNS = {"o200k_base": openai_public.o200k_base, "cl100k_base": openai_public.cl100k_base}


@cache
def encoding(profile: str) -> tiktoken.Encoding:
    """Build tiktoken's encoding from the ranks that bpe-openai ships, without any download."""
    spec = importlib.util.find_spec("bpe_openai")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data" / f"{profile}.tiktoken.gz"
    lines = gzip.decompress(data.read_bytes()).splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    return tiktoken.Encoding(profile, pat_str=_pattern(profile), mergeable_ranks=ranks, special_tokens={})


def _pattern(profile: str) -> str:
    original = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *args, **options: {b"a": 0}
    try:
        return str(PATTERNS[profile]()["pat_str"])
    finally:
        openai_public.load_tiktoken_bpe = original


def tokens(text: str, profile: str = "o200k_base") -> int:
    """Count a text the way tiktoken does."""
    return len(encoding(profile).encode_ordinary(text))


def request_tokens(messages: list[dict[str, Any]], profile: str = "o200k_base") -> int:
    """Count a request of chat messages: 3 each, role, content, name, calls, and 3 for the reply."""
    return 3 + sum(message_tokens(message, profile) for message in messages)


def message_tokens(message: dict[str, Any], profile: str = "o200k_base") -> int:
    """Count one message with text content, nested or flat tool calls."""
    total = 3 + tokens(message["role"], profile)
    content = message.get("content")
    if isinstance(content, str):
        total += tokens(content, profile)
    for part in content if isinstance(content, list) else []:
        total += tokens(part["text"], profile)
    if message.get("name"):
        total += 1 + tokens(message["name"], profile)
    for call in message.get("tool_calls") or []:
        function = call.get("function", call)
        total += tokens(function["name"], profile) + tokens(_arguments(function), profile)
    return total


def _arguments(function: dict[str, Any]) -> str:
    import json

    arguments = function.get("arguments")
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False, separators=(",", ":"))
