"""From one format to another: the conversation is read by one codec and written by another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trimtab.config import Config
from trimtab.fitting.outside import clean_input
from trimtab.fitting.pipeline import LEFT_OUT
from trimtab.formats import find_codec
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab.opening import replaced_note
from trimtab.report import Diagnostic
from trimtab_sdk.codec import Adapted, Codec, Decoded, Encoded, Originals, Recognition, Repair
from trimtab_sdk.errors import InvalidRequestError, UnknownFormatError
from trimtab_sdk.messages import Message, Text

if TYPE_CHECKING:
    from trimtab.loading.registry import ContextStrategyRegistry
    from trimtab_sdk.counting import Framing

_TALK_FIELDS = frozenset(
    {
        "messages",
        "input",
        "contents",
        "system",
        "instructions",
        "system_instruction",
        "systemInstruction",
    }
)
_MOST_NAMES = 12
_PROBE = Message("probe", "user", (Text("?"),), pinned=True)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversation in another format, and what became of it on the way.

    - `messages` is in `format`, `source` is the format it was read from.
    - `request` is a whole body where the format keeps part of the conversation outside the messages (system text
      has a field of its own on some wires), or where a body was given in the same format.
    - `notes` name every message that is left out and every part that changed.
    """

    messages: list[object]
    request: dict[str, object] | None
    notes: tuple[Diagnostic, ...]
    format: str
    source: str

    def to_dict(self) -> dict[str, object]:
        """Give the account, without the conversation, as JSON values with camelCase keys."""
        return {
            "source": self.source,
            "format": self.format,
            "messages": len(self.messages),
            "notes": [note.to_dict() for note in self.notes],
        }


def convert(
    data: object,
    *,
    to: str,
    format: str | None = None,
    model: str = "",
    config: Config | None = None,
    registry: ContextStrategyRegistry | None = None,
) -> Conversion:
    """Write a conversation in the format `to`, with the repairs that its wire demands.

    - `data`: a list of messages, a request body or a transcript. It is not changed. In the same format it comes
      back repaired, the rest of its body included.
    - `format`: the format of `data`; left out, it is recognized. `model` decides where two formats look alike.
    - `config`, `registry`: as for `trimtab.fit`.

    Raises UnknownFormatError for a format that nobody knows or that can only be read, and InvalidRequestError
    with the path of what is wrong in `data`.
    """
    cleaned = clean_input(data)
    codec = translator(cleaned.data, to=to, format=format, model=model, config=config, registry=registry)
    decoded = codec.decode(cleaned.data)
    adapted = codec.adapt(decoded.messages, decoded.originals, protected=())
    if adapted.refused:
        name, why = next(iter(adapted.refused.items()))
        raise InvalidRequestError(f"{name}: {why}", ids=tuple(adapted.refused))
    encoded = codec.encode(adapted.messages, decoded.originals)
    return Conversion(
        messages=encoded.messages,
        request=encoded.request,
        notes=(*replaced_note(cleaned.replaced), *_notes(adapted)),
        format=codec.name,
        source=codec.source.name,
    )


def translator(
    data: object,
    *,
    to: str,
    format: str | None = None,
    model: str = "",
    config: Config | None = None,
    registry: ContextStrategyRegistry | None = None,
) -> Translator:
    """Give a codec that reads what `data` is in and writes `to`, so that a fit can end in another format.

    It goes by the name `to`: register it under that name, and fit with that `format`. Raises UnknownFormatError.
    """
    config = config if config is not None else Config()
    registry = registry if registry is not None else DEFAULT_REGISTRY
    target = registry.codec(to, config)
    if written_by(target) != target.name:
        raise UnknownFormatError(
            f"{to} can be read, not written; what is read from it is written as {written_by(target)}",
            known=[name for name in registry.codec_names(config) if name != to],
        )
    source = find_codec(
        data, format=format, provider=_provider_of(model, config), registry=registry, config=config
    )
    return Translator(source, target)


def written_by(codec: Codec) -> str:
    """Give the format that a codec writes: its own, or the one that a mere reader names in `writes`."""
    writes = getattr(codec, "writes", codec.name)
    return writes if isinstance(writes, str) else codec.name


@dataclass(frozen=True, slots=True)
class _Read:
    """What the source remembers, and what the target has no place for."""

    originals: Originals
    losses: tuple[Repair, ...]


class Translator:
    """A codec that reads with `source` and does everything else with `target`, whose name it has.

    Messages keep the ids and flags that the source gave them, so protection is that of the source. Between equal
    formats it is the codec itself.
    """

    def __init__(self, source: Codec, target: Codec) -> None:
        self.source = source
        self._target = target
        self._same = source.name == target.name

    @property
    def name(self) -> str:
        """The name of the target."""
        return self._target.name

    @property
    def system_anywhere(self) -> bool:
        """As the target has it."""
        return self._target.system_anywhere

    @property
    def user_first(self) -> bool:
        """Whether the user must speak first on the wire that is written."""
        return self._target.user_first

    @property
    def binds_reasoning(self) -> bool:
        """As the target has it."""
        return self._target.binds_reasoning

    def recognize(self, data: object) -> Recognition:
        """Tell what the source says."""
        return self.source.recognize(data)

    def decode(self, data: object) -> Decoded:
        """Read with the source."""
        decoded = self.source.decode(data)
        if self._same:
            return decoded
        losses = (*self._passed_over(decoded), *_repairs(self._losses(data, decoded)))
        return replace(decoded, originals=_Read(decoded.originals, losses), uncounted=())

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Read items with the source and put them in place of messages."""
        read = decoded.originals
        if not isinstance(read, _Read):
            return self.source.splice(decoded, start, stop, items, ids=ids)
        own = replace(decoded, originals=read.originals)
        spliced = self.source.splice(own, start, stop, items, ids=ids)
        return replace(spliced, originals=replace(read, originals=spliced.originals), uncounted=())

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Make the repairs of the target; what it has no place for is named too."""
        if not isinstance(originals, _Read):
            return self._target.adapt(messages, originals, protected=protected)
        adapted = self._target.adapt(messages, None, protected=protected)
        return replace(adapted, repairs=(*originals.losses, *adapted.repairs))

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write with the target."""
        return self._target.encode(messages, None if isinstance(originals, _Read) else originals)

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules of the target."""
        return self._target.framing(profile, model)

    def _passed_over(self, decoded: Decoded) -> tuple[Repair, ...]:
        """What a mere reader says of its file: nobody else would name it."""
        if written_by(self.source) == self.source.name:
            return ()
        return tuple(self.source.adapt(decoded.messages, decoded.originals, protected=()).repairs)

    def _losses(self, data: object, decoded: Decoded) -> Iterator[str]:
        to = self._target.name
        fields = _other_fields(data) if written_by(self.source) == self.source.name else []
        if fields:
            yield (
                f"left out, since formats spell them differently: {_listed(fields)} of the request body; "
                f"add them as {to} has them"
            )
        if decoded.uncounted:
            yield f"left out, since {to} has no place for them: the keys {_listed(decoded.uncounted)}"
        if any(_has_flags(message) for message in decoded.messages) and not _keeps_flags(self._target):
            yield f"{to} keeps no kinds and flags: what a message stands for, and whether it must stay, is lost"


def _repairs(sentences: Iterator[str]) -> tuple[Repair, ...]:
    return tuple(Repair((), sentence) for sentence in sentences)


def _other_fields(data: object) -> list[str]:
    if not isinstance(data, Mapping):
        return []
    return [key for key, value in data.items() if key not in _TALK_FIELDS and value is not None]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _has_flags(message: Message) -> bool:
    return (
        message.source not in ("system", "history", "input")
        or message.pinned
        or message.required
        or message.ephemeral
        or message.relevance is not None
        or bool(message.meta)
    )


def _keeps_flags(target: Codec) -> bool:
    """Tell whether a format holds flags, by writing a pinned message and reading it again."""
    read = target.decode(target.encode((_PROBE,)).messages).messages
    return len(read) == 1 and read[0].pinned


def _notes(adapted: Adapted) -> Iterator[Diagnostic]:
    for reason in dict.fromkeys(adapted.left_out.values()):
        ids = tuple(name for name, why in adapted.left_out.items() if why == reason)
        yield Diagnostic(reason, LEFT_OUT.get(reason, LEFT_OUT["wire-rule"]), ids)
    for repair in dict.fromkeys(adapted.repairs):
        yield Diagnostic("wire-rule", repair.text, repair.ids)


def _provider_of(model: str, config: Config) -> str:
    from trimtab.catalogue import Catalogue

    if not model:
        return ""
    found = Catalogue.load().with_overrides(config.models).find(model)
    return found.provider if found is not None else ""
