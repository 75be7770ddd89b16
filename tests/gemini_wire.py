"""What the Gemini servers refuse, written down apart from the codecs; and Google's own models as a second judge.

`content_faults` and `step_faults` give a sentence for each fault of a request body; none means that one takes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from google.genai import types
from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteraction
from pydantic import BaseModel, TypeAdapter, ValidationError

Json = dict[str, Any]
SENTINEL = "skip_thought_signature_validator"
MODEL = "gemini-3.8-flash"

_CONFIG_KEYS = {"systemInstruction", "system_instruction", "tools", "toolConfig", "safetySettings"}
_ASKED = ("functionCall", "function_call")
_ANSWERED = ("functionResponse", "function_response")


def content_faults(body: object) -> list[str]:
    """Judge a body of generateContent, or a list of contents."""
    given: Json = {"contents": body} if isinstance(body, list) else dict(body)  # type: ignore[call-overload]
    contents: list[Json] = given["contents"]
    return [*_model_faults(given), *_empty_contents(contents), *_call_turns(contents), *_content_rows(contents)]


def _model_faults(body: Json) -> Iterator[str]:
    for at, content in enumerate(body["contents"]):
        try:
            types.Content.model_validate(content)
        except ValidationError as error:
            yield f"{at}: {error}"
    config = {key: value for key, value in body.items() if key in _CONFIG_KEYS}
    for key in ("generationConfig", "generation_config"):
        config |= body.get(key) or {}
    try:
        types.GenerateContentConfig.model_validate(config)
    except ValidationError as error:
        yield f"config: {error}"


def _empty_contents(contents: list[Json]) -> Iterator[str]:
    for at, content in enumerate(contents):
        if not content.get("parts"):
            yield f"{at}: no parts"
        for part in content.get("parts") or ():
            if part.get("text") == "" and not part.get("thoughtSignature"):
                yield f"{at}: an empty text"


def _call_turns(contents: list[Json]) -> Iterator[str]:
    for at, content in enumerate(contents):
        asked, answered = _inner(content, _ASKED), _inner(content, _ANSWERED)
        if asked and (not at or contents[at - 1]["role"] == "model"):
            yield f"{at}: a turn of calls that follows no user turn and no responses"
        before = _inner(contents[at - 1], _ASKED) if at else []
        if len(answered) != len(before) or not _may_match(before, answered):
            yield f"{at}: responses {answered} to the calls {before}"
    if contents and _inner(contents[-1], _ASKED):
        yield "the last turn has calls without responses"


def _may_match(calls: list[Json], responses: list[Json]) -> bool:
    """Where all have ids these decide, where none has the names do; between the two nothing is published."""
    both = [*calls, *responses]
    key = "id" if all(one.get("id") for one in both) else "name"
    if key == "name" and any(one.get("id") for one in both):
        return True
    return Counter(one[key] for one in calls) == Counter(one[key] for one in responses)


def _inner(content: Json, keys: tuple[str, ...]) -> list[Json]:
    return [part[key] for part in content.get("parts") or () for key in keys if part.get(key)]


def _content_rows(contents: list[Json]) -> Iterator[str]:
    """User contents in a row are written as one; responses stand in a content of their own."""
    for at in range(1, len(contents)):
        both = contents[at - 1 : at + 1]
        if all(one.get("role", "user") == "user" for one in both) and not _inner(both[0], _ANSWERED):
            yield f"{at}: a second user content in a row"


def unsigned_contents(body: Json) -> list[str]:
    """Give a sentence for each turn of calls whose first call has no signature."""
    return [
        f"{at}: {calls[0]}"
        for at, content in enumerate(body["contents"])
        if (calls := [part for part in content["parts"] if part.get("functionCall")])
        and not calls[0].get("thoughtSignature")
    ]


@cache
def _interaction() -> TypeAdapter[Any]:
    return TypeAdapter(CreateModelInteraction)


def step_faults(body: object) -> list[str]:
    """Judge a body of the Interactions API, or a list of steps."""
    given: Json = {"input": body} if isinstance(body, list) else dict(body)  # type: ignore[call-overload]
    faults = list(_interaction_faults({"model": MODEL, **given}))
    steps = given.get("input")
    if not isinstance(steps, list) or not any(step.get("type") in _OWN_STEPS for step in steps):
        return faults
    continued = bool(given.get("previous_interaction_id"))
    return [*faults, *_empty_steps(steps), *_call_runs(steps, continued=continued), *_step_rows(steps)]


_OWN_STEPS = {"user_input", "model_output", "thought", "function_call", "function_result"}


def _interaction_faults(body: Json) -> Iterator[str]:
    try:
        read = _interaction().validate_python(body)
    except ValidationError as error:
        yield str(error)
        return
    yield from (f"the SDK does not know {name}" for name in _unknown_models(read))


def _unknown_models(value: object) -> Iterator[str]:
    if isinstance(value, BaseModel):
        if type(value).__name__.startswith("Unknown"):
            yield repr(value)
        for inner in vars(value).values():
            yield from _unknown_models(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _unknown_models(item)


def _empty_steps(steps: list[Json]) -> Iterator[str]:
    for at, step in enumerate(steps):
        if step["type"] in ("user_input", "model_output") and not step.get("content"):
            yield f"{at}: no content"
        for content in step.get("content") or ():
            if content["type"] == "text" and not content["text"]:
                yield f"{at}: an empty text"


def _call_runs(steps: list[Json], *, continued: bool) -> Iterator[str]:
    owed: Counter[str] = Counter()
    heard = continued
    for at, step in enumerate(steps):
        kind = step["type"]
        if kind == "function_result":
            if not owed[step["call_id"]] and not continued:
                yield f"{at}: a result that no call right before it asks for"
            owed[step["call_id"]] -= 1
            continue
        if kind == "user_input" or (at and steps[at - 1]["type"] == "function_result"):
            if +owed:
                yield f"{at}: calls {sorted(+owed)} have no result"
            owed.clear()
        heard = heard or kind == "user_input"
        if kind == "function_call":
            if not heard:
                yield f"{at}: a call before any user input"
            owed[step["id"]] += 1
    if +owed:
        yield f"the calls {sorted(+owed)} have no result"


def _step_rows(steps: list[Json]) -> Iterator[str]:
    for at in range(1, len(steps)):
        if steps[at - 1]["type"] == steps[at]["type"] == "user_input":
            yield f"{at}: a second user input in a row"


def unsigned_steps(body: Json) -> list[str]:
    """Give a sentence for each run of calls that no signed thought stands before."""
    faults: list[str] = []
    signed = called = False
    for at, step in enumerate(body["input"]):
        if step["type"] in ("user_input", "function_result"):
            signed = called = False
        elif step["type"] == "thought":
            signed = signed or bool(step.get("signature"))
        elif step["type"] == "function_call" and not called:
            called = True
            if not signed:
                faults.append(f"{at}: {step}")
    return faults
