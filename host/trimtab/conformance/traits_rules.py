"""What a plugin may say about itself: its traits, the schema of its settings, and what that schema must refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from trimtab.fitting.settings import check_settings
from trimtab.loading.plugins import Plugin
from trimtab_sdk.errors import InvalidRequestError, PluginLoadError
from trimtab_sdk.request import Traits

SERVICES = frozenset({"count", "embed", "complete"})
_MISSPELT = "no_such_setting"
_WRONG_VALUES: Mapping[str, object] = {
    "string": 7,
    "integer": "seven",
    "number": "seven",
    "boolean": "yes",
    "array": 7,
    "object": 7,
}


def traits_faults(traits: Traits) -> Iterator[str]:
    """Tell which traits have values of the wrong type."""
    if traits.settings_schema is not None and not isinstance(traits.settings_schema, Mapping):
        yield f"settings_schema is a {type(traits.settings_schema).__name__}, not a dict or None"
    if type(traits.per_turn) is not bool:
        yield f"per_turn is {traits.per_turn!r:.80}, not True or False"
    if type(traits.needs) is not tuple:
        yield f"needs is a {type(traits.needs).__name__}, not a tuple of names"
        return
    for name in traits.needs:
        if name not in SERVICES:
            yield f"needs the service {name!r:.80}; there are {', '.join(sorted(SERVICES))}"


def schema_faults(schema: Mapping[str, object] | None) -> Iterator[str]:
    """Tell why a settings schema is none."""
    from jsonschema import Draft202012Validator, SchemaError

    if schema is None:
        return
    try:
        json.dumps(schema, allow_nan=False)
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"settings_schema is no JSON schema: {error.message}"
    except Exception as error:
        yield f"settings_schema holds more than JSON values: {error}"


def refusals(plugin: Plugin, settings: Mapping[str, object]) -> Iterator[str]:
    """Tell why a host refuses some settings."""
    try:
        check_settings(plugin, settings)
    except (InvalidRequestError, PluginLoadError) as error:
        yield f"the settings {dict(settings)} are refused: {error.message}"


def default_settings(traits: Traits) -> dict[str, object]:
    """Give what the schema calls the default of each setting."""
    return {name: one["default"] for name, one in _properties(traits).items() if "default" in one}


def wrong_settings(traits: Traits) -> Iterator[dict[str, object]]:
    """Give settings that no schema should allow: a misspelt one, and for each setting one of another type."""
    if traits.settings_schema is None:
        return
    yield {_MISSPELT: True}
    for name, described in _properties(traits).items():
        kind = described.get("type")
        yield {name: _WRONG_VALUES[kind] if isinstance(kind, str) and kind in _WRONG_VALUES else [{"no": "type"}]}


def _properties(traits: Traits) -> dict[str, Mapping[str, object]]:
    schema = traits.settings_schema
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    described = found if isinstance(found, Mapping) else {}
    return {str(name): one for name, one in described.items() if isinstance(one, Mapping)}
