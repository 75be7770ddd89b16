"""Rules for the framing of a codec: what messages and requests cost on its wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from trimtab.conformance.base import RecordProperty
from trimtab.conformance.codec_base import CodecRules
from trimtab.conformance.codec_inputs import JSON_VALUES, short_chats, talks
from trimtab.conformance.driver_base import cost_in_seconds, growth_faults, outcome_of, shown
from trimtab.fitting.approximate import ApproximateV1
from trimtab_sdk.codec import Codec
from trimtab_sdk.counting import Aspect, Cost, CountText, Framing
from trimtab_sdk.messages import Image, Message, Text, ToolCall, texts_of, with_texts

_ASPECTS = frozenset(get_args(Aspect))
_PROFILES = ("approximate-v1", "o200k_base", "no-such-profile")
_MODELS = ("", "gpt-4.1", "no-such-model")
_SCHEMA: Mapping[str, object] = {"type": "object", "properties": {"shelf": {"type": "integer"}}}
_TOOLS: tuple[tuple[object, ...], ...] = (
    ({"type": "function", "function": {"name": "look_up", "description": "Looks.", "parameters": _SCHEMA}},),
    ({"type": "function", "name": "look_up", "description": "Looks.", "parameters": _SCHEMA},),
    ({"name": "look_up", "description": "Looks.", "input_schema": _SCHEMA},),
    ({"functionDeclarations": [{"name": "look_up", "description": "Looks.", "parameters": _SCHEMA}]},),
)
_PICTURE_BYTES = 400_000
_MOST_FOR_A_PICTURE = 100_000
_TIMES_READ = 4


class FramingRules(CodecRules):
    """What a host relies on when a codec prices messages."""

    def test_costs_are_tokens(self, codec: Codec) -> None:
        """Return `Cost(int, frozenset)` of at least 0 for every message, also for parts that the wire has not.

        `approximate` names what is no published rule: framing, images, parts. A profile or model that you do not
        know gets the rules of the usual one.
        """
        for framing in _framings(codec):
            for chat in short_chats():
                self.judge(fault for one in chat.messages for fault in _cost_faults(framing, one))
        framing = codec.framing("approximate-v1")
        self.judge_examples(talks(), lambda told: [bad for one in told for bad in _cost_faults(framing, one)])

    def test_the_same_message_has_the_same_cost(self, codec: Codec) -> None:
        """Let a cost depend on the message and on `count`, on nothing else: no state, no clock.

        A message is priced once and the figure kept.
        """
        one, two = codec.framing("o200k_base", "gpt-4.1"), codec.framing("o200k_base", "gpt-4.1")
        for chat in short_chats():
            forth = [one.message_cost(message, _length) for message in chat.messages]
            back = [two.message_cost(message, _length) for message in reversed(chat.messages)][::-1]
            self.judge(
                f"{chat.name!r}: {message.id!r} costs {first} and then {second}"
                for message, first, second in zip(chat.messages, forth, back, strict=True)
                if first != second
            )

    def test_every_text_is_counted(self, codec: Codec) -> None:
        """Count each text of a message, and each call's name: `count(text)` for all that is sent.

        What is sent and not counted makes requests too long, and the provider refuses them.
        """
        framing = codec.framing("approximate-v1")
        for chat in short_chats():
            self.judge(f"{chat.name!r}: {fault}" for one in chat.messages for fault in _uncounted(framing, one))
        self.judge_examples(talks(), lambda told: [bad for one in told for bad in _uncounted(framing, one)])

    def test_more_never_costs_less(self, codec: Codec) -> None:
        """Add up costs; give no discounts. A longer text and one more part cost at least as much.

        Cutting stops when the total is low enough. Where less costs more, it never stops or cuts the wrong thing.
        """
        framing = codec.framing("approximate-v1")
        for chat in short_chats():
            self.judge(f"{chat.name!r}: {fault}" for one in chat.messages for fault in _cheaper(framing, one))
        self.judge_examples(talks(), lambda told: [bad for one in told for bad in _cheaper(framing, one)])

    def test_a_picture_is_not_counted_as_text(self, codec: Codec) -> None:
        """Price pictures by size or by a flat figure, never by the length of their base64.

        A photo would cost a million tokens, and push the whole conversation out.
        """
        picture = Image(data="iVBORw0KGgo" + "A" * _PICTURE_BYTES, media_type="image/png")
        message = Message("p", "user", (Text("Look."), picture))
        cost = codec.framing("o200k_base", "gpt-4.1").message_cost(message, _length).tokens
        if cost > _MOST_FOR_A_PICTURE:
            self.judge([f"a picture of {_PICTURE_BYTES:,} characters of base64 costs {cost:,} tokens"])

    def test_requests_have_a_cost(self, codec: Codec) -> None:
        """Return a Cost of at least 0 for a request, and more or the same with tools and a response format.

        Tools come in the shapes of several wires, and may be any JSON: what you do not know counts as its JSON.
        """
        for framing in _framings(codec):
            bare = _request(framing, ()).tokens
            for tools in _TOOLS:
                self.judge(_request_faults(framing, tools, None, least=bare + 1))
            self.judge(_request_faults(framing, (), {"type": "json_schema", "schema": _SCHEMA}, least=bare))
        framing = codec.framing("approximate-v1")
        self.judge_examples(JSON_VALUES, lambda tool: _request_faults(framing, (tool,), None))

    def test_pricing_is_linear(self, codec: Codec, record_property: RecordProperty) -> None:
        """Count each text once: no text inside of a joined one, none again for each part.

        Ten times the text may take ten times the time, with much slack.
        """
        framing = codec.framing("approximate-v1")
        self.judge(fault for chat in short_chats() for one in chat.messages for fault in _read_often(framing, one))
        for what, make in (("a long text", _long_text), ("many parts", _many_parts)):
            few, many = (_price_seconds(framing, make(size)) for size in (3_000, 30_000))
            record_property(f"milliseconds_for_{what.replace(' ', '_')}", round(1000 * many, 2))
            self.judge(growth_faults(what, few, many))


def _framings(codec: Codec) -> Iterator[Framing]:
    for profile in _PROFILES:
        for model in _MODELS:
            yield codec.framing(profile, model)


def _length(text: str) -> int:
    return len(text)


def _price(framing: Framing, message: Message, count: CountText = _length) -> int:
    return framing.message_cost(message, count).tokens


def _cost_faults(framing: Framing, message: Message) -> Iterator[str]:
    got = outcome_of(framing.message_cost, message, ApproximateV1().count)
    where = f"{message.id!r} ({message.role}, {' + '.join(type(part).__name__ for part in message.parts)})"
    if got.error is not None:
        yield f"{where}: message_cost raised {shown(got.error)}"
    else:
        yield from (f"{where}: {fault}" for fault in _shape_of_cost(got.value))


def _shape_of_cost(cost: object) -> Iterator[str]:
    if type(cost) is not Cost:
        yield f"the cost is a {type(cost).__name__}, not a trimtab_sdk.Cost"
    elif type(cost.tokens) is not int or cost.tokens < 0:
        yield f"the cost is {cost.tokens!r:.40} tokens"
    elif not isinstance(cost.approximate, frozenset) or not cost.approximate <= _ASPECTS:
        yield f"approximate is {cost.approximate!r:.80}; there are {', '.join(sorted(_ASPECTS))}"


def _uncounted(framing: Framing, message: Message) -> Iterator[str]:
    cost = _price(framing, message)
    texts = [text for _, text in texts_of(message) if text.strip()]
    names = [part.name for part in message.parts if isinstance(part, ToolCall)]
    if cost < sum(map(len, texts)) + sum(map(len, names)):
        yield f"{message.id!r} costs {cost} where a character is a token, less than its texts"


def _cheaper(framing: Framing, message: Message) -> Iterator[str]:
    costs = [_price(framing, replace(message, parts=message.parts[:end])) for end in range(len(message.parts) + 1)]
    if costs != sorted(costs):
        yield f"{message.id!r} costs {costs} as its parts are added one by one"
    for path, text in texts_of(message):
        longer = with_texts(message, {path: f"{text} and more"})
        if _price(framing, longer) < costs[-1]:
            yield f"{message.id!r} costs less when the text at {path} is longer"


def _request(
    framing: Framing, tools: Sequence[object], response_format: Mapping[str, object] | None = None
) -> Cost:
    return framing.request_cost(tools=tools, response_format=response_format, count=_length)


def _request_faults(
    framing: Framing, tools: Sequence[object], response_format: Mapping[str, object] | None, *, least: int = 0
) -> Iterator[str]:
    got = outcome_of(_request, framing, tools, response_format)
    where = f"request_cost with tools {list(tools)!r:.120} and response format {response_format!r:.60}"
    if got.error is not None:
        yield f"{where} raised {shown(got.error)}"
        return
    faults = list(_shape_of_cost(got.value))
    yield from (f"{where}: {fault}" for fault in faults)
    if not faults and isinstance(got.value, Cost) and got.value.tokens < least:
        yield f"{where} is {got.value.tokens}, and must be at least {least}"


def _read_often(framing: Framing, message: Message) -> Iterator[str]:
    read: list[int] = []

    def count(text: str) -> int:
        read.append(len(text))
        return len(text)

    _price(framing, message, count)
    size = len(repr(message))
    if sum(read) > _TIMES_READ * size:
        yield f"{message.id!r} of {size} characters has {sum(read)} characters counted"


def _long_text(size: int) -> Message:
    return Message("long", "user", (Text("The pump stops again. " * size),))


def _many_parts(size: int) -> Message:
    return Message("many", "user", tuple(Text(f"line {at}") for at in range(size // 3)))


def _price_seconds(framing: Framing, message: Message) -> float:
    return cost_in_seconds(lambda: _price(framing, message))
