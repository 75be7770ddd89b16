"""The view of Gemini contents and of Interactions steps."""

from __future__ import annotations

from collections.abc import Iterator

from case_files import Json
from case_views import Call, View, compact, strings_in

_WORDS_OF_RESULT = frozenset({"result", "output", "content", "error"})


def content_view(content: Json) -> View:
    """See one content; one of nothing but function responses is the tool's. Keys are in camel case.

    A call without an id goes by its name.
    """
    parts = content["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    said = [part for part in parts if "text" in part and not part.get("thought")]
    thoughts = [part["text"] for part in parts if "text" in part and part.get("thought")]
    words = (*(part["text"] for part in said), *(text for one in results for text in _result_words(one)))
    only_results = bool(results) and len(results) == len(parts)
    return View(
        role="assistant" if content.get("role") == "model" else "tool" if only_results else "user",
        texts=(*words, *thoughts),
        words=words,
        calls=tuple(
            Call(one.get("id") or one["name"], one["name"], compact(one.get("args") or {})) for one in calls
        ),
        answers=tuple(one.get("id") or one["name"] for one in results),
        data=tuple(_inline(part) for part in parts if "inlineData" in part or "fileData" in part),
        thinks=bool(thoughts),
        other=any(part.keys().isdisjoint(_KNOWN) for part in parts),
        is_priced=False,
    )


_KNOWN = frozenset({"text", "functionCall", "functionResponse", "inlineData", "fileData", "thoughtSignature"})


def _inline(part: Json) -> str:
    return str(part["inlineData"]["data"] if "inlineData" in part else part["fileData"]["fileUri"])


def _result_words(result: Json) -> list[str]:
    response = result["response"]
    if set(response) <= _WORDS_OF_RESULT:
        return strings_in(response)
    return [compact(response)]


def step_view(step: Json) -> View:
    """See one step. Calls and results of the provider's own tools are both the assistant's."""
    kind = step["type"]
    if kind in ("user_input", "model_output"):
        contents = step.get("content") or []
        words = tuple(_words(contents))
        role = "user" if kind == "user_input" else "assistant"
        return View(role, words, words, data=tuple(_data(contents)), is_priced=False)
    if kind == "thought":
        return View("assistant", tuple(_words(step.get("summary") or [])), thinks=True, is_priced=False)
    if kind == "function_call":
        call = Call(step["id"], step["name"], compact(step["arguments"]))
        return View("assistant", calls=(call,), is_priced=False)
    if kind == "function_result":
        return _result_view(step)
    return _hosted_view(step)


def _result_view(step: Json) -> View:
    result = step["result"]
    contents = result if isinstance(result, list) else []
    words = tuple(_words(contents)) if isinstance(result, list) else (_text_of(result),)
    return View("tool", words, words, answers=(step["call_id"],), data=tuple(_data(contents)), is_priced=False)


def _hosted_view(step: Json) -> View:
    kind = step["type"]
    calls = (Call(step["id"], kind, ""),) if kind.endswith("_call") and "id" in step else ()
    answers = (step["call_id"],) if kind.endswith("_result") and "call_id" in step else ()
    return View("assistant", calls=calls, answers=answers, other=True, is_priced=False)


def _text_of(result: Json) -> str:
    return result if isinstance(result, str) else compact(result)


def _words(contents: list[Json]) -> Iterator[str]:
    for content in contents:
        if content["type"] == "text":
            yield content["text"]


def _data(contents: list[Json]) -> Iterator[str]:
    for content in contents:
        if content["type"] != "text":
            yield content.get("data") or content.get("uri") or compact(content)
