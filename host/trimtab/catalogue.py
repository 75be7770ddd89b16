"""The catalogue: how much a model takes, and which tokenizer counts for it.

    Catalogue.load().find("openai/gpt-4o-2024-08-06").context_limit

The rows come with the package, in `data/models.json`; `scripts/refresh_models.py` writes that file.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

from trimtab_sdk.errors import ConfigError, InvalidRequestError, UnknownModelError
from trimtab_sdk.shifting import checked_tokens

APPROXIMATE = "approximate-v1"

_LONGEST_NAME = 200
_LARGEST_FIGURE = 1_000_000_000
_FIELDS = ("provider", "context_limit", "max_input", "max_output", "encoding")

# What people write before the slash, and the provider whose models they mean.
_PREFIXES = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "google": "gemini",
    "models": "gemini",
    "deepseek": "deepseek",
}
# The one provider whose rows keep the prefix: it gives other limits to ids that are OpenAI's too.
_PREFIXED_PROVIDER = "chatgpt"

_RELEASE = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|@[^/@]*|-latest)$")
_WORD = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_CL100K = re.compile(r"gpt-4(?![^-:@])|gpt-3\.5|gpt-35-")
_O200K = re.compile(r"gpt-(?!2\b|j\b|neo)|chatgpt-|codex-|computer-use-|o\d+(?![^-:@])")
# Distilled models keep the vocabulary of the model they were made from.
_DEEPSEEK = re.compile(r"deepseek(?!.*distill)")


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model. All figures are tokens; None means not known, and limits nothing.

    - `context_limit`: the whole window, input and output together.
    - `max_input`: what the input alone may come to, where that is less than the window.
    - `max_output`: the longest answer.
    - `encoding`: the profile of the tokenizer that counts for it.
    - `known`: False when there is no row for it, so the limit is the caller's and the encoding a guess.
    """

    name: str
    provider: str
    context_limit: int | None
    max_input: int | None
    max_output: int | None
    encoding: str
    known: bool = True


class Catalogue:
    """Models by name. It never changes; `with_overrides` gives a new one."""

    def __init__(self, models: Iterable[Model]) -> None:
        self._models = {model.name.lower(): model for model in models}

    @classmethod
    def load(cls) -> Catalogue:
        """Give the catalogue that comes with Trimtab; the file is read once per process.

        Raises ConfigError when the file is missing or damaged.
        """
        with _loading:
            return _shipped()

    def find(self, name: str) -> Model | None:
        """Give the model of this name, or None. Upper and lower case are the same.

        The exact name goes first; then the name with or without its provider (`openai/gpt-4o`,
        `models/gemini-2.5-pro`); then the same without what names a release (`-2024-08-06`, `-20250929`,
        `@20250929`, `-latest`). A fine-tuned model (`ft:gpt-4o:acme::1`) has the limits of its base.
        """
        for spelling in _spellings(name.lower()):
            model = self._models.get(spelling) or self._of_provider(spelling)
            if model is not None:
                return model
        return None

    def models(self) -> tuple[Model, ...]:
        """Give all models, sorted by name."""
        return tuple(self._models[key] for key in sorted(self._models))

    def with_overrides(self, overrides: Mapping[str, Mapping[str, object]]) -> Catalogue:
        """Give a catalogue in which some models have other fields, or new models stand.

        `overrides` is name → `provider`, `context_limit`, `max_input`, `max_output`, `encoding`, as many of them
        as shall differ; a figure of None takes the limit away. What is not named comes from the row that `find`
        gives for the name. An override holds for the name as it is written there.

        Raises ConfigError, which names the field, for a field that does not exist, for a figure that is no whole
        number of at least 1, and for a model that would have neither a context limit nor a largest input.
        """
        if not isinstance(overrides, Mapping):
            raise ConfigError(f"models must map names to fields, not be {_shown(overrides)}")
        return Catalogue([*self._models.values(), *(self._overridden(*item) for item in overrides.items())])

    def _of_provider(self, key: str) -> Model | None:
        prefix, slash, rest = key.partition("/")
        if not slash:
            return self._models.get(f"{_PREFIXED_PROVIDER}/{key}")
        model = self._models.get(rest)
        return model if model is not None and model.provider == _PREFIXES.get(prefix) else None

    def _overridden(self, name: object, fields: object) -> Model:
        if not _is_name(name):
            raise ConfigError(
                f"models must be named by texts of 1 to {_LONGEST_NAME} characters, such as 'gpt-4o', "
                f"not {_shown(name)}"
            )
        path = f"models[{name!r}]"
        if not isinstance(fields, Mapping):
            raise ConfigError(f"{path} must map fields to values ({', '.join(_FIELDS)}), not be {_shown(fields)}")
        _refuse_other_fields(path, fields)
        base = self.find(name) or Model(name, "", None, None, None, guess_encoding(name))
        model = Model(
            name=name,
            provider=_word(path, fields, "provider", base.provider),
            context_limit=_figure(path, fields, "context_limit", base.context_limit),
            max_input=_figure(path, fields, "max_input", base.max_input),
            max_output=_figure(path, fields, "max_output", base.max_output),
            encoding=_word(path, fields, "encoding", base.encoding),
        )
        if model.context_limit is None and model.max_input is None:
            raise ConfigError(f"{path} has neither context_limit nor max_input; give one of them, in tokens")
        return model


def resolve_model(name: str, *, catalogue: Catalogue, context_limit: int | None) -> Model:
    """Give the model to budget for: the catalogue's, else one made of the caller's `context_limit` in tokens.

    Raises InvalidRequestError when `name` is no text of 1 to 200 characters, InvalidBudgetError when the limit is
    no whole number of tokens, and UnknownModelError when neither the catalogue nor the caller gives a limit; its
    `known` are the names that come close.
    """
    if not _is_name(name):
        raise InvalidRequestError(
            f"the model must be named by a text of 1 to {_LONGEST_NAME} characters, not {_shown(name)}",
            path="model",
        )
    if context_limit is not None:
        checked_tokens("context_limit", context_limit)
    model = catalogue.find(name)
    if model is not None:
        return model
    if context_limit is None:
        raise _unknown_model(name, catalogue)
    return Model(name, "", context_limit, None, None, guess_encoding(name), known=False)


def guess_encoding(name: str) -> str:
    """Give the tokenizer profile that a model's name suggests: that of OpenAI or DeepSeek, else `approximate-v1`.

    The prefixes are those of tiktoken. OpenAI names that tiktoken does not know count as `o200k_base`, the newest
    published vocabulary, and so does `gpt-oss`, whose own differs in special tokens only.
    """
    bare = name.lower().rpartition("/")[2].removeprefix("ft:")
    if _CL100K.match(bare):
        return "cl100k_base"
    if _O200K.match(bare):
        return "o200k_base"
    return "deepseek" if _DEEPSEEK.match(bare) else APPROXIMATE


_loading = threading.Lock()


@cache
def _shipped() -> Catalogue:
    import json
    import pkgutil

    # Not importlib.resources: importing that takes longer than all the rest of loading.
    try:
        data = json.loads(pkgutil.get_data("trimtab", "data/models.json") or b"")
        return Catalogue(Model(**row) for row in data["models"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"the catalogue of models cannot be read ({error}); install trimtab again") from error


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME


def _spellings(key: str) -> Iterator[str]:
    yield key
    if key.startswith("ft:"):
        base = key.split(":")[1]
        yield f"ft:{base}"
        yield base
        key = base
    yield _RELEASE.sub("", key)


def _unknown_model(name: str, catalogue: Catalogue) -> UnknownModelError:
    from difflib import get_close_matches

    names = {model.name.lower(): model.name for model in catalogue.models()}
    close = [names[key] for key in get_close_matches(name.lower().rpartition("/")[2], names, n=3)]
    hint = f"; names that come close: {', '.join(close)}" if close else ""
    return UnknownModelError(
        f"the limits of the model {name!r} are not known; say how many tokens its context window has, with "
        f"--limit N on the command line or context_limit=N in Python{hint}",
        name=name,
        known=close,
    )


def _refuse_other_fields(path: str, fields: Mapping[object, object]) -> None:
    for field in fields:
        if field not in _FIELDS:
            raise ConfigError(f"{path} has no field {_shown(field)}; there are {', '.join(_FIELDS)}")


def _figure(path: str, fields: Mapping[object, object], field: str, default: int | None) -> int | None:
    value = fields.get(field, default)
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= _LARGEST_FIGURE:
        raise ConfigError(
            f"{path}.{field} must be a whole number of tokens from 1 to {_LARGEST_FIGURE:,}, or nothing, "
            f"not {_shown(value)}"
        )
    return value


def _word(path: str, fields: Mapping[object, object], field: str, default: str) -> str:
    if field not in fields:
        return default
    value = fields[field]
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ConfigError(f"{path}.{field} must be a lower-case name such as 'openai', not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """Show a wrong value in an error, in bounded length; Python refuses to print very large numbers."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number that large"
    return f"{value!r:.60}"
