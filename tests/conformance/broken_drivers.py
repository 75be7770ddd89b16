"""Drivers that break one rule of a contract each, and the test and the words that must say so."""

from __future__ import annotations

import copy
import itertools
import math
import random
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from conformance.broken_providers import (
    STREAMS,
    AnswersTwice,
    AsksForModels,
    AsksTheServer,
    CarriesOnSomehow,
    ChangesItsName,
    ChangesTheCall,
    CountsNothing,
    CountsWithoutTheCursor,
    CutsSealsOfOldAnswers,
    ForgetsTheCursor,
    ForgetsTheLimit,
    ForgetsTheSystemText,
    GivesACursorAnyway,
    HasAUserInItsAddress,
    KeepsForNoTime,
    KeepsInALoop,
    KeepsUnasked,
    KeepsWhatItCannotReadAgain,
    KnowsOneShapeOfErrors,
    LeavesTheAddress,
    NamesAFaultOfItsOwn,
    NamesAKeyByItsValue,
    NumbersItsRequests,
    QuotesTheServer,
    ReadsEventsUnchecked,
    ReadsWithOneReader,
    RecallsTextAlone,
    RemarksOnNothing,
    SaysMoreThanItAnswers,
    SaysNothingByItself,
    SendsTheLastMessage,
    SetsTheKey,
    SortsTools,
    SpeaksUnheardOf,
    TakesAnySetting,
    TakesHalfForWhole,
    Talker,
    TellsNoCalls,
    WaitsForever,
    WithoutACodec,
    WithoutASchema,
    WritesNoCallsAsAList,
)
from trimtab.conformance import CodecContract, EmbedderContract, ProviderContract, TokenizerContract
from trimtab.conformance.driver_base import DriverContract
from trimtab.fitting.approximate import ApproximateV1
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    Adapted,
    Cost,
    CountText,
    Decoded,
    Encoded,
    Framing,
    Image,
    InvalidRequestError,
    Message,
    Originals,
    Reasoning,
    Recognition,
    Repair,
    Text,
    ToolResult,
)

SAMPLES: tuple[object, ...] = (
    {
        "model": "gpt-4.1",
        "own": {"kept": [1, 1.0, None]},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "When does the ferry leave?", "ui": {"folded": True}},
            {"role": "assistant", "content": "At half past six."},
            {"role": "user", "content": "And on Sunday?"},
        ],
    },
)
SEALED: tuple[object, ...] = (
    [
        {"id": "q", "role": "user", "content": "hi"},
        {
            "id": "a",
            "role": "assistant",
            "content": "Good morning.",
            "blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2VhbGVk"}],
        },
        {"id": "r", "role": "user", "content": "and now?"},
    ],
)


class Chat(ChatCompletions):
    """Reads and writes as the built-in does, under a name of its own."""

    name = "broken-chat"

    def recognize(self, data: object) -> Recognition:
        return min(super().recognize(data), Recognition.MAYBE)


class TakesAll(Chat):
    def recognize(self, data: object) -> Recognition:
        return Recognition.SURE


class TakesNothing(Chat):
    def recognize(self, data: object) -> Recognition:
        return Recognition.NO


class LooksByKey(Chat):
    def recognize(self, data: Any) -> Recognition:
        return Recognition.MAYBE if data[0]["role"] else Recognition.NO


class ReadsUnchecked(Chat):
    def decode(self, data: Any) -> Decoded:
        try:
            return super().decode(data)
        except InvalidRequestError as error:
            raise KeyError(error.path) from error


class RefusesWithoutPath(Chat):
    def decode(self, data: object) -> Decoded:
        try:
            return super().decode(data)
        except InvalidRequestError as error:
            raise InvalidRequestError("something is wrong") from error


class GivesUpInTheDeep(Chat):
    def decode(self, data: object) -> Decoded:
        _measured(data, 60)
        return super().decode(data)


def _measured(value: object, left: int) -> None:
    if not left:
        raise RecursionError("maximum recursion depth exceeded")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        _measured(one, left - 1)


class NamesByChance(Chat):
    def decode(self, data: object) -> Decoded:
        decoded = super().decode(data)
        return replace(decoded, messages=tuple(replace(one, id=f"{random.random()}") for one in decoded.messages))


class NamesAlike(Chat):
    def decode(self, data: object) -> Decoded:
        decoded = super().decode(data)
        return replace(decoded, messages=tuple(replace(one, id=one.role) for one in decoded.messages))


class TidiesItsInput(Chat):
    def decode(self, data: Any) -> Decoded:
        decoded = super().decode(data)
        for item in data["messages"] if isinstance(data, dict) else data:
            item.pop("ui", None)
        return decoded


class WritesAnew(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        anew = super().encode(messages).messages
        body = super().encode(messages, originals).request
        return Encoded(anew, None if body is None else {**body, "messages": anew})


class SplicesAtTheEnd(Chat):
    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        end = len(decoded.messages)
        return super().splice(decoded, end, end, items, ids=ids)


class SplicesWithNewIds(Chat):
    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        kept = super().encode(decoded.messages, decoded.originals).messages
        return self.decode([*kept[:start], *items, *kept[stop:]])


class SplicesByReading(Chat):
    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        for _ in range(3):
            self.decode(copy.deepcopy(self.encode(decoded.messages, decoded.originals).messages))
        return super().splice(decoded, start, stop, items, ids=ids)


class ReadsAndWritesAnother(Chat):
    writes = "neutral"


class DropsInSilence(Chat):
    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        adapted = super().adapt(messages, originals, protected=protected)
        return replace(adapted, left_out={})


class DropsWhatMustStay(Chat):
    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        adapted = super().adapt(messages, originals, protected=())
        first = adapted.messages[:1]
        left_out = {**adapted.left_out, **{one.id: "wire-rule" for one in first}}
        return replace(adapted, messages=adapted.messages[1:], left_out=left_out)


def _told(message: Message, words: str) -> Message:
    parts = tuple(Text(part.text + words) if isinstance(part, Text) else part for part in message.parts)
    return replace(message, parts=parts)


class MendsInSilence(Chat):
    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        adapted = super().adapt(messages, originals, protected=protected)
        return replace(adapted, messages=tuple(_told(one, "!") for one in adapted.messages))


class MendsForEver(Chat):
    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        adapted = super().adapt(messages, originals, protected=protected)
        repair = Repair(tuple(one.id for one in adapted.messages), "made it friendlier")
        mended = tuple(_told(one, "!") for one in adapted.messages)
        return replace(adapted, messages=mended, repairs=(*adapted.repairs, repair))


class MendsSoundInput(Chat):
    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        adapted = super().adapt(messages, originals, protected=protected)
        return replace(adapted, repairs=(*adapted.repairs, Repair((), "looked at it again")))


class ComparesAllWithAll(Chat):
    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        for one, other in itertools.product(messages, messages):
            assert one is other or one.id
        return super().adapt(messages, originals, protected=protected)


class WritesBackwards(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        return super().encode(messages[::-1], originals)


class AddsWords(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        return super().encode([*messages, Message("more", "user", (Text("Go on."),))], originals)


class WritesBytes(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        encoded = super().encode(messages, originals)
        return replace(encoded, messages=[b"" if item == {} else {"raw": b"bytes"} for item in encoded.messages])


class WritesAnOrphan(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        return super().encode([*messages, Message("more", "tool", (ToolResult("gone", "found"),))], originals)


class WritesNumbers(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        encoded = super().encode(messages, originals)
        items: list[Any] = [{**_object(item), "at": at} for at, item in enumerate(encoded.messages)]
        return replace(encoded, messages=items)


def _object(item: object) -> Mapping[str, object]:
    assert isinstance(item, dict)
    return item


class WritesMoreThanWasCounted(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        return super().encode([_told(one, " Thank you very much indeed.") for one in messages], originals)


class WritesTheOldText(Chat):
    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        known = {} if originals is None else getattr(originals, "entries", {})
        return super().encode([known[one.id].message if one.id in known else one for one in messages], originals)


class CutsSeals(Neutral):
    name = "broken-neutral"

    def recognize(self, data: object) -> Recognition:
        return min(super().recognize(data), Recognition.MAYBE)

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        return super().encode([_cut(one) for one in messages], originals)


def _cut(message: Message) -> Message:
    parts = [
        replace(part, opaque=part.opaque[:-1]) if isinstance(part, Reasoning) else part for part in message.parts
    ]
    return replace(message, parts=tuple(parts))


class Priced(Chat):
    """Prices messages by a function of the built-in's cost."""

    def framing(self, profile: str, model: str = "") -> Framing:
        return Prices(super().framing(profile, model), self.price)

    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        raise NotImplementedError


class Prices:
    def __init__(self, framing: Framing, price: Any) -> None:
        self._framing = framing
        self._price = price

    def message_cost(self, message: Message, count: CountText) -> Cost:
        cost: Cost = self._price(message, count, self._framing.message_cost(message, count))
        return cost

    def request_cost(
        self, *, tools: Sequence[object], response_format: Mapping[str, object] | None, count: CountText
    ) -> Cost:
        return self._framing.request_cost(tools=tools, response_format=response_format, count=count)


class PricesInParts(Priced):
    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        return cost._replace(tokens=cost.tokens / 2)  # type: ignore[arg-type]


class PricesFlat(Priced):
    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        return cost._replace(tokens=min(cost.tokens, 10))


class GivesDiscounts(Priced):
    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        return cost._replace(tokens=cost.tokens - 40 if cost.tokens > 60 else cost.tokens)


class PricesByMood(Priced):
    turns = itertools.count()

    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        return cost._replace(tokens=cost.tokens + next(self.turns))


class PricesBase64(Priced):
    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        data = "".join(part.data for part in message.parts if isinstance(part, Image))
        return cost._replace(tokens=cost.tokens + count(data))


class CountsAgainAndAgain(Priced):
    def price(self, message: Message, count: CountText, cost: Cost) -> Cost:
        for end in range(0, 1000, 10):
            count(repr(message)[:end])
        return cost


class PricesNoTools(Chat):
    def framing(self, profile: str, model: str = "") -> Framing:
        return NoTools(super().framing(profile, model), lambda message, count, cost: cost)


class NoTools(Prices):
    def request_cost(
        self, *, tools: Sequence[object], response_format: Mapping[str, object] | None, count: CountText
    ) -> Cost:
        return Cost(3)


class WithoutFlags(Chat):
    system_anywhere = None  # type: ignore[assignment]


class Tokens:
    """Counts by estimate."""

    profile = "broken-tokens"
    version = "1"
    approximate = True

    def count(self, text: str) -> int:
        return ApproximateV1().count(text)


class GivesIds(Tokens):
    def count(self, text: str) -> Any:
        return list(range(super().count(text)))


class AddsABeginning(Tokens):
    def count(self, text: str) -> int:
        return super().count(text) + 1


class CutsLongTexts(Tokens):
    def count(self, text: str) -> int:
        return super().count(text[:512])


class ReadsSpecialTokens(Tokens):
    def count(self, text: str) -> int:
        return 1 if text.startswith("<|") and text.endswith("|>") else super().count(text)


class RefusesSpecialTokens(Tokens):
    def count(self, text: str) -> int:
        if "<|endoftext|>" in text:
            raise ValueError("Encountered text corresponding to disallowed special token")
        return super().count(text)


class LearnsWords(Tokens):
    seen = 0

    def count(self, text: str) -> int:
        if not text:
            return 0
        self.seen += 1
        return max(super().count(text), min(len(text.encode()), self.seen))


class PanicError(BaseException):
    """As a native library ends a call."""


class PanicsAtBlanks(Tokens):
    def count(self, text: str) -> int:
        if len(text) >= 500_000 and text.isspace():
            raise PanicError("index out of bounds")
        return super().count(text)


class MergesPairByPair(Tokens):
    def count(self, text: str) -> int:
        for _ in range(len(text) ** 2 // 4_000):
            pass
        return super().count(text)


class Downloads(Tokens):
    def count(self, text: str) -> int:
        try:
            socket.create_connection(("127.0.0.1", 9))
        except (OSError, RuntimeError):
            return super().count(text)
        return 0


class JoinsDearly(Tokens):
    def count(self, text: str) -> int:
        return len(text.encode()) if len(text) > 40 else super().count(text)


class KnowsNoSurrogates(Tokens):
    def count(self, text: str) -> int:
        text.encode()
        return super().count(text)


class WithoutVersion(Tokens):
    version = ""


class Vectors:
    """An embedder that counts letters."""

    name = "broken-vectors"
    dimensions = 26

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> list[float]:
        return [float(text.lower().count(chr(97 + at))) for at in range(26)]


class GivesTuples(Vectors):
    def embed(self, texts: list[str]) -> Any:
        return tuple(map(tuple, super().embed(texts)))


class GivesShortVectors(Vectors):
    def vector(self, text: str) -> list[float]:
        return super().vector(text)[: 20 + len(text) % 3]


class DividesByNothing(Vectors):
    def vector(self, text: str) -> list[float]:
        found = super().vector(text)
        return [one / math.fsum(found) if any(found) else math.nan for one in found]


class FailsWithoutTexts(Vectors):
    def embed(self, texts: list[str]) -> list[list[float]]:
        texts[0]
        return super().embed(texts)


class SortsByLength(Vectors):
    def embed(self, texts: list[str]) -> list[list[float]]:
        return super().embed(sorted(texts, key=len))


class SaysTheSameOfAll(Vectors):
    def vector(self, text: str) -> list[float]:
        return [1.0] * 26


class Guesses(Vectors):
    turns = itertools.count()

    def embed(self, texts: list[str]) -> list[list[float]]:
        turn = next(self.turns)
        return [[one + turn for one in vector] for vector in super().embed(texts)]


class StripsInPlace(Vectors):
    def embed(self, texts: list[str]) -> list[list[float]]:
        texts[:] = [text.strip() for text in texts]
        return super().embed(texts)


class AsksAService(Vectors):
    def embed(self, texts: list[str]) -> list[list[float]]:
        try:
            socket.create_connection(("127.0.0.1", 9))
        except (OSError, RuntimeError):
            return super().embed(texts)
        return []


@dataclass(frozen=True)
class Broken:
    """A broken driver: the test that must fail, a piece of its words, and what its author claims."""

    subject: type
    rule: str
    words: str
    claims: Mapping[str, object] = field(default_factory=dict)

    @property
    def contract(self) -> type[DriverContract]:
        """The contract that it is tried by."""
        kinds: tuple[tuple[type, type[DriverContract]], ...] = (
            (Tokens, TokenizerContract),
            (Talker, ProviderContract),
            (Vectors, EmbedderContract),
        )
        return next((contract for kind, contract in kinds if issubclass(self.subject, kind)), CodecContract)


CHAT: Mapping[str, object] = {"samples": SAMPLES}
TALK: Mapping[str, object] = {"streams": STREAMS}
BROKEN = (
    Broken(WithoutFlags, "test_has_all_its_parts", "`system_anywhere` is None; it must be True or False"),
    Broken(TakesNothing, "test_recognizes_its_own_format", "recognize says NO", CHAT),
    Broken(TakesAll, "test_leaves_other_formats_alone", "it is sure that this is broken-chat"),
    Broken(Chat, "test_leaves_other_formats_alone", "not NO", {"others": ([{"role": "user"}],)}),
    Broken(LooksByKey, "test_recognizing_never_raises", "recognize raised TypeError"),
    Broken(ReadsUnchecked, "test_bad_input_is_refused_with_its_path", "raised KeyError"),
    Broken(RefusesWithoutPath, "test_bad_input_is_refused_with_its_path", "without the path of what is wrong"),
    Broken(Chat, "test_bad_input_is_refused_with_its_path", "broken 0: it was read", {"broken": ([],)}),
    Broken(GivesUpInTheDeep, "test_deep_input_is_read_or_refused", "raised RecursionError"),
    Broken(NamesAlike, "test_reads_a_conversation", "two messages have the id 'user'"),
    Broken(NamesByChance, "test_reading_twice_gives_the_same", "two readings give different messages"),
    Broken(TidiesItsInput, "test_leaves_its_input_alone", "sample 0: the input is not what it was", CHAT),
    Broken(SplicesAtTheEnd, "test_splicing_is_reading_anew", "replacing: "),
    Broken(SplicesWithNewIds, "test_splicing_keeps_ids", "changed the ids of the others"),
    Broken(SplicesByReading, "test_splicing_reads_only_what_is_new", "two items took"),
    Broken(ReadsAndWritesAnother, "test_a_reader_says_what_it_writes", "the codec writes neutral", CHAT),
    Broken(Chat, "test_a_reader_says_what_it_writes", "reads_only is True", {"reads_only": True, **CHAT}),
    Broken(ComparesAllWithAll, "test_time_is_linear_in_the_conversation", "adapt: ten times the input took"),
    Broken(WritesAnew, "test_what_was_read_comes_back", "sample 0: it came back as", CHAT),
    Broken(WritesBackwards, "test_writes_what_was_said", "is not where it was, or not there at all"),
    Broken(AddsWords, "test_writes_what_was_said", "text 'Go on.' was added"),
    Broken(WritesBytes, "test_writes_what_was_said", "values that are no JSON"),
    Broken(DropsInSilence, "test_adapt_keeps_books", "is gone, and not in left_out"),
    Broken(DropsWhatMustStay, "test_adapt_keeps_books", "must stay and is left out"),
    Broken(MendsInSilence, "test_adapt_names_every_repair", "was changed, and no repair names it"),
    Broken(MendsForEver, "test_adapt_mends_once", "is changed"),
    Broken(MendsSoundInput, "test_adapt_leaves_alone_what_the_wire_takes", "a repair is named again"),
    Broken(WritesAnOrphan, "test_what_is_written_needs_no_repair", "is refused: "),
    Broken(WritesMoreThanWasCounted, "test_a_whole_fit_holds", "and its report says"),
    Broken(WritesNumbers, "test_what_stays_is_as_it_was", "others were written otherwise", CHAT),
    Broken(
        WritesTheOldText, "test_a_shortened_text_is_what_is_written", "text 'in short' is not where it was", CHAT
    ),
    Broken(CutsSeals, "test_opaque_values_come_back", "'c2VhbGV'", {"samples": SEALED}),
    Broken(PricesInParts, "test_costs_are_tokens", "tokens"),
    Broken(PricesByMood, "test_the_same_message_has_the_same_cost", "and then"),
    Broken(PricesFlat, "test_every_text_is_counted", "less than its texts"),
    Broken(GivesDiscounts, "test_more_never_costs_less", "as its parts are added one by one"),
    Broken(PricesBase64, "test_a_picture_is_not_counted_as_text", "characters of base64 costs"),
    Broken(PricesNoTools, "test_requests_have_a_cost", "must be at least 4"),
    Broken(CountsAgainAndAgain, "test_pricing_is_linear", "characters counted"),
    Broken(WithoutVersion, "test_has_all_its_parts", "`version` is ''; it must be a line of text"),
    Broken(GivesIds, "test_counts_are_whole_numbers_that_can_be", "count gave a list"),
    Broken(AddsABeginning, "test_only_nothing_costs_nothing", "the empty text costs 1"),
    Broken(CutsLongTexts, "test_counts_are_not_under_the_floor", "no vocabulary needs less than"),
    Broken(ReadsSpecialTokens, "test_special_tokens_are_plain_text", "is counted as one token"),
    Broken(RefusesSpecialTokens, "test_special_tokens_are_plain_text", "count raised ValueError"),
    Broken(LearnsWords, "test_the_same_text_has_the_same_count", "in another thread"),
    Broken(PanicsAtBlanks, "test_a_million_equal_characters_are_counted_in_time", "count raised PanicError"),
    Broken(MergesPairByPair, "test_time_is_linear_in_the_text", "ten times the input took"),
    Broken(Downloads, "test_uses_no_network", "the network was used in count"),
    Broken(JoinsDearly, "test_joined_texts_cost_no_more_than_apart", "together", {"joins_cheaply": True}),
    Broken(KnowsNoSurrogates, "test_lone_surrogates_are_counted", "UnicodeEncode", {"counts_surrogates": True}),
    Broken(WithoutACodec, "test_has_all_its_parts", "`codec` is ''; it must be a name", TALK),
    Broken(WithoutASchema, "test_has_all_its_parts", "`options_schema` is 'none'", TALK),
    Broken(CarriesOnSomehow, "test_carries_on_in_a_known_way", "mode is 'by-magic'", TALK),
    Broken(KeepsInALoop, "test_carries_on_in_a_known_way", "retention is 3600.0", TALK),
    Broken(KeepsForNoTime, "test_has_all_its_parts", "`retention` is -1; it must be a number of seconds", TALK),
    Broken(ForgetsTheCursor, "test_a_cursor_is_carried_on", "'kept_4711-cursor' is not in the request", TALK),
    Broken(ForgetsTheSystemText, "test_a_cursor_is_carried_on", "is not in the request with a cursor", TALK),
    Broken(KeepsUnasked, "test_keeping_is_said_in_the_request", "the same whether keep is True or False", TALK),
    Broken(GivesACursorAnyway, "test_nothing_is_kept_unasked", "keep is False, and the cursor is", TALK),
    Broken(CountsNothing, "test_counts_as_it_asks", "read_count takes None for a count", TALK),
    Broken(CountsWithoutTheCursor, "test_counts_as_it_asks", "is not in the request with a cursor", TALK),
    Broken(RemarksOnNothing, "test_reads_its_streams", "not a tuple of printable sentences", TALK),
    Broken(WaitsForever, "test_any_error_has_a_fault", "retry_after is inf", TALK),
    Broken(SpeaksUnheardOf, "test_speaks_a_codec_that_exists", "there is no codec 'unheard-of'", TALK),
    Broken(ChangesItsName, "test_says_the_same_each_time", "first and 'talker-", TALK),
    Broken(AsksTheServer, "test_uses_no_network", "the network was used in mode", TALK),
    Broken(AsksForModels, "test_uses_no_network", "the network was used in request", TALK),
    Broken(HasAUserInItsAddress, "test_says_where_it_is_asked", "leave out user", TALK),
    Broken(NamesAKeyByItsValue, "test_says_where_it_is_asked", "no name of a variable", TALK),
    Broken(TakesAnySetting, "test_its_schemas_are_closed", "settings_schema allows 'no_such_setting'", TALK),
    Broken(SortsTools, "test_writes_tools_in_order", "the tool look_up is not at its place", TALK),
    Broken(LeavesTheAddress, "test_a_request_can_be_sent", "is not relative to an endpoint's base URL", TALK),
    Broken(SetsTheKey, "test_a_request_can_be_sent", "the header Authorization is the host's", TALK),
    Broken(NumbersItsRequests, "test_a_request_is_the_same_each_time", "a second request for the same call", TALK),
    Broken(ChangesTheCall, "test_a_request_is_the_same_each_time", "the call was changed", TALK),
    Broken(ForgetsTheLimit, "test_a_request_holds_what_was_fitted", "the output limit of 4321 tokens", TALK),
    Broken(SendsTheLastMessage, "test_a_request_holds_what_was_fitted", "is not in the request", TALK),
    Broken(TellsNoCalls, "test_reads_its_streams", "the calls told are []", TALK),
    Broken(AnswersTwice, "test_reads_its_streams", "there are 2 answers", TALK),
    Broken(WritesNoCallsAsAList, "test_an_answer_can_be_sent_again", "otherwise than they are", TALK),
    Broken(RecallsTextAlone, "test_recall_keeps_what_was_answered", "the calls are []", TALK),
    Broken(CutsSealsOfOldAnswers, "test_recall_keeps_what_was_answered", "the seals are []", TALK),
    Broken(ReadsWithOneReader, "test_readers_share_nothing", "two readers in turn", TALK),
    Broken(TakesHalfForWhole, "test_a_cut_stream_is_no_answer", "it passes for a whole answer", TALK),
    Broken(ReadsEventsUnchecked, "test_garbage_is_a_fault", "it raised KeyError", TALK),
    Broken(KeepsWhatItCannotReadAgain, "test_garbage_is_a_fault", "the codec cannot read what came of it", TALK),
    Broken(KnowsOneShapeOfErrors, "test_any_error_has_a_fault", "it raised ", TALK),
    Broken(NamesAFaultOfItsOwn, "test_any_error_has_a_fault", "cursor is None with the code", TALK),
    Broken(QuotesTheServer, "test_a_fault_holds_no_sentence", "the message of 'hunter2-4711' is in", TALK),
    Broken(SaysNothingByItself, "test_answers_by_itself", "its last event is no Answer", TALK),
    Broken(SaysMoreThanItAnswers, "test_answers_by_itself", "the items say 'hello', not 'hello there'", TALK),
    Broken(GivesTuples, "test_gives_a_vector_for_each_text", "embed gave a tuple, not a list"),
    Broken(GivesShortVectors, "test_gives_a_vector_for_each_text", "numbers, not 26"),
    Broken(FailsWithoutTexts, "test_no_texts_give_no_vectors", "embed raised IndexError"),
    Broken(DividesByNothing, "test_any_text_has_a_vector", "holds nan, which is no finite float"),
    Broken(SortsByLength, "test_vectors_are_in_the_order_of_the_texts", "has another vector"),
    Broken(SaysTheSameOfAll, "test_vectors_are_in_the_order_of_the_texts", "different texts have the same vector"),
    Broken(Guesses, "test_the_same_text_has_the_same_vector", "has another vector in a second call"),
    Broken(StripsInPlace, "test_leaves_its_texts_alone", "the list was changed"),
    Broken(AsksAService, "test_uses_no_network", "the network was used in embed", {"works_offline": True}),
)


def broken_contracts() -> dict[str, type[DriverContract]]:
    """Give the contract class of each broken driver by its name, for the pytest of a child process."""
    return {name_of(at): _contract(broken) for at, broken in enumerate(BROKEN)}


def name_of(at: int) -> str:
    """Give the name of the contract class of a broken driver."""
    return f"Test{BROKEN[at].subject.__name__}{at}"


def _contract(broken: Broken) -> type[DriverContract]:
    @pytest.fixture
    def subject(self: object) -> object:
        return broken.subject

    return type("TestBroken", (broken.contract,), {"examples": 10, **broken.claims, "subject": subject})
