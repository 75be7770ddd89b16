"""A count of a request that shares nothing with the product: tiktoken and the published recipe.

3 + role + content (+ name + 1) for each message, a call its name and its arguments, 3 for the request. The
vocabularies are the official ranks that bpe_openai ships, so nothing is fetched.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import bpe_openai
from case_files import Json

if TYPE_CHECKING:
    import tiktoken

PER_MESSAGE = 3
PRIMING = 3
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_SOURCE = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


@dataclass(frozen=True)
class Count:
    """Tokens; `exact` is False when something in the request has no published price."""

    tokens: int
    exact: bool


def count_request(messages: Sequence[Json], profile: str) -> Count:
    """Count a request in the shape `neutral` or `openai-chat`. What has no published price counts as 0."""
    tokens = PRIMING
    for message in messages:
        texts = [message["role"], *_texts(message)]
        tokens += PER_MESSAGE + sum(count_text(text, profile) for text in texts) + _name_cost(message, profile)
    return Count(tokens, exact=all(_is_priced(message) for message in messages))


def count_text(text: str, profile: str = "o200k_base") -> int:
    """Count a text as plain text."""
    return len(encoding(profile).encode_ordinary(text))


def _name_cost(message: Json, profile: str) -> int:
    name = message.get("name")
    return count_text(name, profile) + 1 if name else 0


def _texts(message: Json) -> Iterator[str]:
    yield from _content_texts(message.get("content"))
    for key in ("refusal", "reasoning", "reasoning_content"):
        if message.get(key):
            yield message[key]
    for block in message.get("blocks") or ():
        yield block.get("thinking", "")
    for call in message.get("tool_calls") or ():
        yield from _call_texts(call.get("function", call))
    if message.get("function_call"):
        yield from _call_texts(message["function_call"])


def _content_texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for part in content or ():
        if isinstance(part, str):
            yield part
        elif "text" in part:
            yield part["text"]


def _call_texts(call: Json) -> Iterator[str]:
    yield call["name"]
    arguments = call.get("arguments")
    yield arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _is_priced(message: Json) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    return message["role"] != "function" and all(isinstance(part, str) or part["type"] == "text" for part in parts)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@functools.cache
def encoding(profile: str) -> tiktoken.Encoding:
    """Build tiktoken's encoding of a vocabulary from the ranks on this machine."""
    import tiktoken
    from tiktoken_ext import openai_public

    source = _SOURCE.format(profile)
    ranks = gzip.decompress((Path(bpe_openai.__file__).parent / "data" / f"{profile}.tiktoken.gz").read_bytes())
    with tempfile.TemporaryDirectory() as folder, _environment(_CACHE_VARIABLE, folder):
        (Path(folder) / hashlib.sha1(source.encode()).hexdigest()).write_bytes(ranks)
        return tiktoken.Encoding(**getattr(openai_public, profile)())
