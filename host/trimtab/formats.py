"""Which codec reads an input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.report import plugin_remark
from trimtab_sdk.codec import Codec, Recognition
from trimtab_sdk.errors import PluginLoadError, UnknownFormatError

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry
    from trimtab.report import Diagnostic

DEFAULT_FORMAT = "chat-completions"
SAMPLE_EDGE = 100
PROVIDER_FORMATS = {
    "anthropic": "anthropic-messages",
    "deepseek": "chat-completions",
    "gemini": "gemini-interactions",
}
"""Who reads a list that several formats could be. For OpenAI that is chat-completions: what is written into a
plain list of roles and texts in that format is right in a list of Responses items too, and not the reverse."""


def find_codec(
    data: object,
    *,
    format: str | None,
    provider: str,
    registry: ContextStrategyRegistry,
    config: Config,
    skipped: list[Diagnostic] | None = None,
) -> Codec:
    """Give the codec that reads `data`: the one named by `format`, else the one that recognizes it.

    When more than one may be right, the codec of the model's provider reads it, else chat-completions. A
    codec that cannot be loaded is passed over, and named in `skipped`.
    Raises UnknownFormatError when no codec does.
    """
    if format is not None:
        return registry.codec(format, config)
    codecs = _loadable(registry, config, skipped)
    sample = sample_of(data)
    marks = {codec.name: codec.recognize(sample) for codec in codecs}
    best = max(marks.values(), default=Recognition.NO)
    if best is Recognition.NO:
        raise UnknownFormatError(
            "no format reads this input; give a list of messages or a request body, "
            f"or name its format: {', '.join(marks)}",
            known=tuple(marks),
        )
    likely = {codec.name: codec for codec in codecs if marks[codec.name] == best}
    for name in (PROVIDER_FORMATS.get(provider, DEFAULT_FORMAT), DEFAULT_FORMAT):
        if name in likely:
            return likely[name]
    return likely[min(likely)]


def _loadable(registry: ContextStrategyRegistry, config: Config, skipped: list[Diagnostic] | None) -> list[Codec]:
    codecs: list[Codec] = []
    for name in registry.codec_names(config):
        try:
            codecs.append(registry.codec(name, config))
        except PluginLoadError as error:
            if skipped is not None:
                skipped.append(plugin_remark(error, "it was passed over"))
    return codecs


def sample_of(data: object) -> object:
    """Give `data` with at most 400 elements in each of its lists: both ends, and as many spread between.

    A format shows in its messages, and asking every codec about every message of a long conversation would
    cost more than reading it.
    """
    if isinstance(data, list):
        return _thinned(data)
    if isinstance(data, dict):
        return {key: _thinned(value) if isinstance(value, list) else value for key, value in data.items()}
    return data


def _thinned(items: list[object]) -> list[object]:
    if len(items) <= 4 * SAMPLE_EDGE:
        return items
    middle = items[SAMPLE_EDGE:-SAMPLE_EDGE]
    step = -(-len(middle) // (2 * SAMPLE_EDGE))
    return [*items[:SAMPLE_EDGE], *middle[::step], *items[-SAMPLE_EDGE:]]
