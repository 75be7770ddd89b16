"""Requests read strictly: JSON without what JSON does not have, and no field or parameter that means nothing."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Iterator
from email.message import Message
from typing import Any, Final, TypeAlias

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from trimtab.http.errors import HttpError, MalformedError
from trimtab_sdk.errors import InvalidRequestError

MAX_DEPTH: Final = 64
_ARGUMENTS: Final = "arguments"
_LEAST_INT: Final = -(1 << 63)
_MOST_INT: Final = (1 << 63) - 1
_LONGEST_INT: Final = 20
_LONGEST_PATH: Final = 200
_LARGE: Final = 256 * 1024
_Place: TypeAlias = "tuple[int | str, _Place] | None"


class StrictRoute(APIRoute):
    """A route whose JSON body and query are read strictly. Give it to a router as `route_class`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Give the handler, with the reading in front of it."""
        handle = super().get_route_handler()
        names = frozenset(_query_names(self.dependant))
        takes_body = self.body_field is not None

        async def strict(request: Request) -> Response:
            _check_query(request, names)
            body = await request.body()
            if takes_body and body:
                _check_type(request)
                # Where Starlette keeps what it has parsed: the route's own reading takes it from there.
                request._json = await _parsed(body)
            return await handle(request)

        return strict


async def _parsed(body: bytes) -> object:
    """Read a JSON body; a large one beside the event loop, so that nobody else waits for it."""
    return parse_json(body) if len(body) <= _LARGE else await asyncio.to_thread(parse_json, body)


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (one.alias for one in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def parse_json(data: bytes) -> object:
    """Read a JSON body.

    Raises MalformedError for all but UTF-8 and JSON, a key that stands twice in an object, NaN and infinities.
    Raises InvalidRequestError, naming the place, for JSON that cannot be kept: whole numbers of more than 64 bits,
    NUL and lone surrogates in a text, and over 64 levels.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedError("the body is not UTF-8") from error
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse, parse_int=_int, parse_float=_float
        )
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")
        raise MalformedError(f"the body is no JSON: {said} at character {error.pos}") from error
    except RecursionError as error:
        raise _too_deep("") from error
    if "\\u" in text or _is_deep(value):
        _check(value)
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise MalformedError(
            f"the key {twice[:_LONGEST_PATH]!r} stands twice in one object", path=twice[:_LONGEST_PATH]
        )
    return made


def _refuse(constant: str) -> object:
    raise MalformedError(f"the body has {constant}, which JSON does not have")


def _int(digits: str) -> int:
    value = int(digits) if len(digits) <= _LONGEST_INT else _MOST_INT + 1
    if not _LEAST_INT <= value <= _MOST_INT:
        raise InvalidRequestError("the body has a whole number of more than 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidRequestError("the body has a number that is too large")
    return value


def _is_deep(value: object) -> bool:
    """Tell whether there are more levels than may be. Fast: most bodies are wide and flat."""
    level, depth = [value], 0
    while level and depth < MAX_DEPTH:
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [one for some in inner for one in some if isinstance(one, dict | list)]
        depth += 1
    return bool(level)


def _check(value: object) -> None:
    """Look at every text and every level. Without recursion: how deep it goes is what is looked for."""
    # A place is its last step and the place around it: spelled out for each of a million values below one long
    # key, the paths would take a million times the key.
    waiting: list[tuple[object, _Place, int]] = [(value, None, 0)]
    while waiting:
        found, place, depth = waiting.pop()
        if isinstance(found, str):
            _check_text(found, place)
        elif isinstance(found, list | dict) and depth >= MAX_DEPTH:
            raise _too_deep(_path_of(place))
        elif isinstance(found, list):
            waiting += ((one, (at, place), depth + 1) for at, one in enumerate(found))
        elif isinstance(found, dict):
            for key, one in found.items():
                _check_text(key, place)
                waiting.append((one, (key, place), depth + 1))


def _path_of(place: _Place) -> str:
    """Give a place as `messages[3].content`, at most its first 200 characters."""
    steps: list[int | str] = []
    while place is not None:
        step, place = place
        steps.append(step if isinstance(step, int) else step[:_LONGEST_PATH])
    path = ""
    for one in reversed(steps):
        path += f"[{one}]" if isinstance(one, int) else f".{one}" if path else one
    return path[:_LONGEST_PATH]


def _check_text(text: str, place: _Place) -> None:
    if "\0" in text:
        raise InvalidRequestError("a text has the character NUL, which cannot be kept", path=_path_of(place))
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidRequestError(
            "a text has half of a surrogate pair, which is no character", path=_path_of(place)
        )
    if place is not None and str(place[0]).endswith(_ARGUMENTS) and "\\u" in text and _hides_half(text):
        raise InvalidRequestError(
            "a text inside has half of a surrogate pair, which is no character", path=_path_of(place)
        )


def _hides_half(text: str) -> bool:
    """Tell whether the arguments of a call, JSON in a text, hold half of a surrogate pair as an escape."""
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _too_deep(path: str) -> InvalidRequestError:
    return InvalidRequestError(f"the body is nested over {MAX_DEPTH} levels", path=path)


def _check_type(request: Request) -> None:
    message = Message()
    message["content-type"] = request.headers.get("content-type", "")
    subtype = message.get_content_subtype()
    is_json = message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
    if not is_json or str(message.get_param("charset", "utf-8")).lower() not in ("utf-8", "utf8"):
        raise HttpError("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON in UTF-8: Content-Type: application/json")


def _check_query(request: Request, names: frozenset[str]) -> None:
    for name in request.query_params:
        if name not in names:
            known = f"there are {', '.join(sorted(names))}" if names else "it has none"
            raise MalformedError(f"this path has no query parameter {name!r}; {known}", path=f"query.{name}")
        if len(request.query_params.getlist(name)) > 1:
            raise MalformedError(f"the query parameter {name!r} is given twice", path=f"query.{name}")
    for name, value in request.query_params.items():
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise MalformedError("a query parameter holds what is no text", path=f"query.{name}")
