"""A plugin's settings, checked against the schema it published."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.fitting.cleaning import clean_note
from trimtab.fitting.outside import clean_input
from trimtab.loading.plugins import TRAITS, Plugin
from trimtab_sdk.errors import InvalidRequestError, PluginLoadError


def check_settings(
    plugin: Plugin, settings: Mapping[str, object], *, word: str = "settings"
) -> Mapping[str, object]:
    """Give the settings when the plugin's schema allows them. `word` is what they are called in an error.

    Raises InvalidRequestError with the path of the wrong setting, and PluginLoadError when the schema itself
    is broken.
    """
    if not isinstance(settings, Mapping):
        raise InvalidRequestError(f"{word} must be an object, not a {type(settings).__name__}", path=word)
    if not settings:
        return {}
    clean_input(settings)
    schema = plugin.traits.settings_schema
    if schema is None:
        raise InvalidRequestError(f"{plugin.origin.plugin} takes no {word}", path=word)
    _validate(plugin, dict(settings), schema, word)
    return settings


def _validate(plugin: Plugin, settings: dict[str, object], schema: Mapping[str, object], word: str) -> None:
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
        # With a registry of its own the validator never fetches what a reference names.
        validator = Draft202012Validator(schema, registry=Registry())
        fault = next(iter(validator.iter_errors(settings)), None)
    except SchemaError as error:
        raise PluginLoadError(
            f"its {word}_schema is no JSON schema: {clean_note(error.message)}",
            origin=plugin.origin,
            hook=TRAITS,
        ) from error
    except Exception as error:
        raise PluginLoadError(
            f"its {word}_schema cannot be used: {type(error).__name__}: {clean_note(str(error))}",
            origin=plugin.origin,
            hook=TRAITS,
        ) from error
    if fault is not None:
        path = ".".join([word, *map(str, fault.absolute_path)])
        raise InvalidRequestError(f"{path} of {plugin.origin.plugin}: {clean_note(fault.message)}", path=path)
