"""What the Gemini servers refuse, written down apart from the codecs and from their tests.

For contents of generateContent and for steps of Interactions alike: a turn of calls follows the user or results,
as many results as calls stand right behind it, and no content is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from case_files import Json

_FIELDS = ("text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode")
_MORE_FIELDS = ("codeExecutionResult",)
_TALK = frozenset({"user_input", "model_output"})


def contents_faults(contents: Sequence[Json]) -> list[str]:
    """Give one sentence for each fault of a list of contents; none means a server takes it."""
    faults = [f"{at}: {fault}" for at, content in enumerate(contents) for fault in _content_faults(content)]
    if faults:
        return faults
    said = ["" if _names(content, "functionResponse") else content["role"] for content in contents]
    return [*_row_faults(said), *_turn_faults(contents)]


def _content_faults(content: Json) -> Iterator[str]:
    role, parts = content.get("role"), content.get("parts")
    if role not in ("user", "model"):
        yield f"role {role!r}"
        return
    if not isinstance(parts, list) or not parts:
        yield "no parts"
        return
    if all("text" in part and not part["text"].strip() for part in parts):
        yield "nothing but blanks"
    for part in parts:
        kinds = [key for key in (*_FIELDS, *_MORE_FIELDS) if key in part]
        if len(kinds) != 1:
            yield f"a part of {kinds}"
        elif kinds[0] == ("functionResponse" if role == "model" else "functionCall"):
            yield f"{kinds[0]} said by the {role}"
        elif kinds[0] == "functionResponse" and not isinstance(part["functionResponse"].get("response"), dict):
            yield "a response that is no object"


def _row_faults(roles: Sequence[str]) -> Iterator[str]:
    for at, role in enumerate(roles[1:], 1):
        if role == "user" == roles[at - 1]:
            yield f"{at}: the user speaks twice in a row"


def _turn_faults(contents: Sequence[Json]) -> Iterator[str]:
    for at, content in enumerate(contents):
        asked = _names(content, "functionCall")
        answered = _names(content, "functionResponse")
        before = _names(contents[at - 1], "functionCall") if at else []
        if Counter(before) != Counter(answered):
            yield f"{at}: calls {before}, responses {answered}"
        if asked and (at == 0 or contents[at - 1]["role"] != "user"):
            yield f"{at}: calls that follow neither the user nor responses"
    if contents and _names(contents[-1], "functionCall"):
        yield "calls without responses at the end"


def _names(content: Json, key: str) -> list[str]:
    return [part[key]["name"] for part in content["parts"] if key in part]


def steps_faults(steps: Sequence[Json]) -> list[str]:
    """Give one sentence for each fault of a list of Interactions steps; none means a server takes it."""
    faults = [f"{at}: {fault}" for at, step in enumerate(steps) for fault in _step_faults(step)]
    if faults:
        return faults
    rows = ["user" if step["type"] == "user_input" else "" for step in steps]
    return [*_row_faults(rows), *_call_faults(steps)]


def _step_faults(step: Json) -> Iterator[str]:
    kind = step.get("type")
    if not isinstance(kind, str):
        yield "a step without type"
    elif kind in _TALK:
        contents = step.get("content")
        if not isinstance(contents, list) or not contents:
            yield "no content"
        elif all(content["type"] == "text" and not content["text"].strip() for content in contents):
            yield "nothing but blanks"
    elif kind == "function_call":
        if not all(isinstance(step.get(key), str) and step[key] for key in ("id", "name")):
            yield "a call without id or name"
        if not isinstance(step.get("arguments"), dict):
            yield "arguments that are no object"
    elif kind == "function_result" and not (
        isinstance(step.get("call_id"), str) and isinstance(step.get("result"), str | dict | list)
    ):
        yield "a result without call_id or result"


def _call_faults(steps: Sequence[Json]) -> Iterator[str]:
    """Calls of one turn come in a row, thoughts among them; all their results follow."""
    asked: list[str] = []
    for at, step in enumerate(steps):
        kind = step["type"]
        if kind == "function_call":
            before = [one["type"] for one in steps[:at] if one["type"] in ("user_input", "function_result")]
            if not before:
                yield f"{at}: a call that nothing was said before"
            asked.append(step["id"])
        elif kind == "function_result":
            if step["call_id"] not in asked:
                yield f"{at}: a result without its call"
            else:
                asked.remove(step["call_id"])
        elif kind == "user_input" and asked:
            yield f"{at}: the user speaks before the results of {asked}"
    if asked:
        yield f"no results for {asked}"
