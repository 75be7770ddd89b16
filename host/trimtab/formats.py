"""Which codec reads an input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab_sdk.codec import Codec, Recognition
from trimtab_sdk.errors import UnknownFormatError

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry

DEFAULT_FORMAT = "chat-completions"
PROVIDER_FORMATS = {
    "openai": "openai-responses",
    "chatgpt": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini-interactions",
    "deepseek": "chat-completions",
}


def find_codec(
    data: object,
    *,
    format: str | None,
    provider: str,
    registry: ContextStrategyRegistry,
    config: Config,
) -> Codec:
    """Give the codec that reads `data`: the one named by `format`, else the one that recognizes it.

    When more than one may be right, the codec of the model's provider reads it, else chat-completions.
    Raises UnknownFormatError when no codec does.
    """
    if format is not None:
        return registry.codec(format, config)
    codecs = [registry.codec(name, config) for name in registry.codec_names(config)]
    marks = {codec.name: codec.recognize(data) for codec in codecs}
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
