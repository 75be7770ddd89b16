"""The border for input: whatever comes from a file or a caller is checked here before a codec reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab_sdk.errors import InvalidRequestError

MAX_DEPTH = 128
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(slots=True)
class Cleaned:
    """Input made of plain JSON values; `replaced` are the paths of texts that held half an emoji."""

    data: object
    replaced: list[str] = field(default_factory=list)


def clean_input(data: object) -> Cleaned:
    """Check that `data` is made of JSON values and replace lone surrogates by U+FFFD.

    Whatever is clean is handed back as the same object. Objects with a `model_dump` method, such as the
    messages of a provider's SDK, are read through it. Raises InvalidRequestError with the path of a value
    that JSON cannot hold (NaN, bytes, a key that is no text) or that is nested over 128 deep.
    """
    cleaned = Cleaned(data)
    cleaned.data = _clean(data, "", 0, cleaned.replaced)
    return cleaned


def _clean(value: object, path: str, depth: int, replaced: list[str]) -> object:
    if type(value) is str:
        return value if value.isascii() else _clean_text(value, path, replaced)
    if value is None or type(value) is bool or type(value) is int:
        return value
    if depth > MAX_DEPTH:
        raise InvalidRequestError(f"{path} is nested over {MAX_DEPTH} deep", path=path)
    if isinstance(value, Mapping):
        return _clean_mapping(value, path, depth, replaced)
    if isinstance(value, list | tuple):
        return _clean_list(value, path, depth, replaced)
    if isinstance(value, float):
        return _clean_float(value, path)
    if isinstance(value, str):
        return _clean_text(str.__str__(value), path, replaced)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _clean(dump(exclude_unset=True), path, depth + 1, replaced)
    raise InvalidRequestError(
        f"{path or 'the input'} is a {type(value).__name__}; give values that JSON can hold", path=path
    )


def _clean_mapping(value: Mapping[object, object], path: str, depth: int, replaced: list[str]) -> object:
    changed: dict[str, object] | None = None if type(value) is dict else {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidRequestError(f"{path or 'the input'} has the key {key!r}; keys are texts", path=path)
        inner = f"{path}.{key}" if path else key
        cleaned_key = key if key.isascii() else _clean_text(key, inner, replaced)
        cleaned = _clean(item, inner, depth + 1, replaced)
        if changed is None and (cleaned is not item or cleaned_key is not key):
            changed = _before(value, key)
        if changed is not None:
            changed[cleaned_key] = cleaned
    return value if changed is None else changed


def _before(value: Mapping[object, object], stop: str) -> dict[str, object]:
    kept: dict[str, object] = {}
    for key, item in value.items():
        if key == stop:
            break
        kept[str(key)] = item
    return kept


def _clean_list(value: list[object] | tuple[object, ...], path: str, depth: int, replaced: list[str]) -> object:
    if type(value) is list and all(map(_is_plain, value)):
        return value
    prefix = path or "messages"
    cleaned = [
        item if _is_plain(item) else _clean(item, f"{prefix}[{at}]", depth + 1, replaced)
        for at, item in enumerate(value)
    ]
    if type(value) is list and all(new is old for new, old in zip(cleaned, value, strict=True)):
        return value
    return cleaned


def _is_plain(item: object) -> bool:
    """Tell at once of most messages that nothing is wrong with them: an object of ASCII texts."""
    if type(item) is not dict:
        return False
    for key, value in item.items():
        if type(value) is not str or not value.isascii() or type(key) is not str or not key.isascii():
            return False
    return True


def _clean_float(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise InvalidRequestError(f"{path or 'the input'} is {value}, which JSON cannot hold", path=path)
    return value


def _clean_text(value: str, path: str, replaced: list[str]) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        replaced.append(path)
        return "".join(REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in value)
    return value
