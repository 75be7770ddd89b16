"""A conversation with tools, as files of every form."""

from __future__ import annotations

import json
from pathlib import Path

Json = dict[str, object]


def chat(turns: int = 12) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": "You are kind."}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} " + "word " * 30})
        if turn % 4 == 0:
            call = {"id": f"call-{turn}", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"call-{turn}", "content": "12 degrees"})
        messages.append({"role": "assistant", "content": f"answer {turn} " + "text " * 30})
    return [*messages, {"role": "user", "content": "and now? é 😀"}]


def list_file(folder: Path, messages: object | None = None, *, indent: int | None = None) -> Path:
    path = folder / "list.json"
    path.write_text(json.dumps(chat() if messages is None else messages, indent=indent), encoding="utf-8")
    return path


def body_file(folder: Path) -> Path:
    path = folder / "body.json"
    path.write_text(json.dumps({"model": "gpt-4o", "temperature": 0.5, "messages": chat()}, indent=4))
    return path


def lines_file(folder: Path) -> Path:
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(message, separators=(",", ":")) + "\n" for message in chat()))
    return path
