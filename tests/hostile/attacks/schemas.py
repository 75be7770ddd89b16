"""Settings schemas, which the host itself reads."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_schema = partial(Attack, family="schemas", defence="worker", told="^PLUGIN_LOAD_FAILED", seconds=1, within=8.0)
_HOOK = "\n@hookimpl\ndef trimtab_shift(request, services): return Edit(notes=['tried'])\n"


def _traits(schema: str) -> str:
    return f"@hookimpl\ndef trimtab_traits(): return Traits(settings_schema={schema})\n{_HOOK}"


ATTACKS = (
    _schema(
        name="a schema from the network",
        does="refers to a schema at an address",
        source=_traits("{'$ref': f\"http://127.0.0.1:{FACTS['port']}/schema\"}"),
        trusted_told="^(PLUGIN_|INVALID_REQUEST|note tried)",
    ),
    _schema(
        name="a schema from a file",
        does="refers to a file of the user",
        source=_traits("{'$ref': f\"file://{FACTS['home']}/.ssh/id\"}"),
        trusted_told="^(PLUGIN_|INVALID_REQUEST|note tried)",
    ),
    _schema(
        name="an expensive schema",
        does="has a pattern that takes exponential time with the settings at hand",
        source=_traits("{'properties': {'a': {'pattern': '^(a+)+$'}}}"),
        options={"settings": {"a": "a" * 48 + "b"}},
        trusted="lost",
    ),
    _schema(
        name="a schema that meets itself",
        does="has definitions that refer to each other in a circle",
        source=_traits("{'$ref': '#/$defs/a', '$defs': {'a': {'$ref': '#/$defs/b'}, 'b': {'$ref': '#/$defs/a'}}}"),
        trusted_told="^note tried",
    ),
    _schema(
        name="a giant schema",
        does="has a schema of a megabyte",
        source=_traits("{'title': 'x' * 1_000_000}"),
        trusted_told="^note tried",
    ),
    _schema(
        name="a deep schema",
        does="has a schema nested a hundred deep",
        source=_traits("__import__('functools').reduce(lambda inner, _: {'not': inner}, range(100), {})"),
        trusted_told="^(note tried|PLUGIN_|INVALID_REQUEST)",
    ),
    _schema(
        name="escapes in a schema",
        does="has a schema whose complaint steers a terminal",
        source=_traits("{'properties': {'a': {'const': '\\x1b[31m\\u202e'}}}"),
        options={"settings": {"a": 1}},
        told="^INVALID_REQUEST",
    ),
)
