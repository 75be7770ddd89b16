"""Which settings schemas are taken from a confined plugin: the host itself reads them, with no time limit."""

from __future__ import annotations

import json
from collections.abc import Iterator

MOST_CHARS = 16 * 1024
# What could make the host read far, or think long: references (also to addresses), patterns, keywords that
# evaluate what stands inside them again and again, and keywords whose keys are names and no keywords.
BARRED = frozenset(
    {
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "$defs",
        "definitions",
        "pattern",
        "patternProperties",
        "unevaluatedItems",
        "unevaluatedProperties",
        "dependencies",
        "dependentSchemas",
    }
)


def check_schema(schema: dict[str, object]) -> str:
    """Say what is wrong with a schema, or nothing. It is made of JSON values, and nested no deeper than frames."""
    if len(json.dumps(schema)) > MOST_CHARS:
        return f"of more than {MOST_CHARS} characters"
    try:
        json.dumps(schema, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "that holds half a character"
    barred = sorted(BARRED.intersection(_keywords(schema)))
    return f"with {barred[0]}, which is not taken from a confined plugin" if barred else ""


def _keywords(value: object) -> Iterator[str]:
    """Give every key that could be read as a keyword. The keys of `properties` are names of settings."""
    if type(value) is list:
        for inner in value:
            yield from _keywords(inner)
    elif type(value) is dict:
        yield from value
        for key, inner in value.items():
            if key == "properties" and type(inner) is dict:
                for named in inner.values():
                    yield from _keywords(named)
            else:
                yield from _keywords(inner)
