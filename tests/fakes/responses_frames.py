"""The output of an answer, item by item, together with the events that tell of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fakes.chat_plans import half_of, in_pieces, json_text
from fakes.chat_replies import Ask, Json
from fakes.responses_items import Item, Piece, next_prefix, piece_of, unfolded
from fakes.responses_seals import Seals


@dataclass(frozen=True, slots=True)
class PartKind:
    """How a part of an item is told: its event names, and the words for its text, its index and its list."""

    type: str
    part: str
    stem: str
    word: str = "text"
    index: str = "content_index"
    listed: str = "content"


TEXT = PartKind("output_text", "response.content_part", "response.output_text")
REFUSAL = PartKind("refusal", "response.content_part", "response.refusal", "refusal")
SUMMARY = PartKind(
    "summary_text",
    "response.reasoning_summary_part",
    "response.reasoning_summary_text",
    "text",
    "summary_index",
    "summary",
)
THOUGHT = PartKind("reasoning_text", "response.content_part", "response.reasoning_text")


class Output:
    """Writes items and their events. One item and one part are open at most; others close them.

    `items` is what the model sees before, which a compaction covers; `prefix` is the name of it.
    """

    def __init__(
        self,
        *,
        mark: str,
        model: str,
        items: Sequence[Item],
        prefix: str,
        seals: Seals,
        encrypts: bool,
        obfuscates: bool,
    ) -> None:
        self.pieces: list[Piece] = []
        self._mark = mark
        self._model = model
        self._items = list(items)
        self._prefix = prefix
        self._seals = seals
        self._encrypts = encrypts
        self._obfuscates = obfuscates
        self._sequence = 0
        self._made = 0
        self._item: Item | None = None
        self._kind: PartKind | None = None

    @property
    def items(self) -> list[Item]:
        """The items that are done."""
        return [piece.sent for piece in self.pieces]

    def event(self, type: str, **fields: Json) -> bytes:
        """Write an event."""
        value = {"type": type, **fields, "sequence_number": self._sequence}
        self._sequence += 1
        return f"event: {type}\ndata: {json_text(value)}\n\n".encode()

    def text(self, text: str, kind: PartKind, phase: str) -> Iterator[bytes]:
        """Add to a message of that phase, which is opened when it is not open yet."""
        if self._item is None or self._item["type"] != "message" or self._item["phase"] != phase:
            yield from self._open_message(phase)
        yield from self._delta(text, kind)

    def thought(self, text: str, kind: PartKind) -> Iterator[bytes]:
        """Add to a piece of reasoning, which is opened when it is not open yet."""
        if self._item is None or self._item["type"] != "reasoning":
            yield from self.close()
            self._item = {"id": self._id("rs"), "type": "reasoning", "summary": []}
            early = {"encrypted_content": self._seals.seal("early")[:12]} if self._encrypts else {}
            yield self._told("added", {**self._item, **early})
        yield from self._delta(text, kind)

    def call(self, ask: Ask, status: Literal["completed", "incomplete"] = "completed") -> Iterator[bytes]:
        """Write a function call."""
        yield from self.close()
        item_id = self._id("fc")
        call_id = ask.call_id or f"call_{self._mark}_{self._made}"
        head = {"id": item_id, "type": "function_call", "call_id": call_id, "name": ask.name}
        yield self._told("added", {**head, "arguments": "", "status": "in_progress"})
        place = {"item_id": item_id, "output_index": len(self.pieces)}
        stem = "response.function_call_arguments"
        for fragment in in_pieces(ask.arguments, ask.fragments):
            yield self.event(f"{stem}.delta", **place, delta=fragment, **self._filler())
        yield self.event(f"{stem}.done", **place, name=ask.name, arguments=ask.arguments)
        yield self._finished({**head, "arguments": ask.arguments, "status": status})

    def compaction(self) -> Iterator[bytes]:
        """Write an item that covers everything before it."""
        yield from self.close()
        item_id = self._id("cmp")
        covers = unfolded([*self._items, *(piece.seen for piece in self.pieces)])
        item = {"id": item_id, "type": "compaction", "encrypted_content": self._seals.seal({"covers": covers})}
        yield self._told("added", {**item, "encrypted_content": ""})
        place = {"item_id": item_id, "output_index": len(self.pieces)}
        yield self.event("response.compaction.compacting", **place)
        self._prefix = ""
        self._items = []
        yield self._finished(item)

    def any_item(self, item: Item) -> Iterator[bytes]:
        """Write any item."""
        yield from self.close()
        whole = {"id": self._id("item"), **item}
        yield self._told("added", whole)
        yield self._finished(whole)

    def half(self, text: str, inside: Literal["frame", "character"], phase: str) -> Iterator[bytes]:
        """Write a text of which the last event is cut."""
        *before, last = self.text(text, TEXT, phase)
        yield from before
        yield half_of(last, inside)

    def close(self, status: Literal["completed", "incomplete"] = "completed") -> Iterator[bytes]:
        """Close what is open."""
        if self._item is None:
            return
        yield from self._close_part()
        item, self._item = self._item, None
        if item["type"] == "reasoning":
            yield self._finished(self._sealed(item) if self._encrypts else item)
        else:
            yield self._finished({**item, "status": status})

    def _open_message(self, phase: str) -> Iterator[bytes]:
        yield from self.close()
        self._item = {"id": self._id("msg"), "type": "message", "role": "assistant", "phase": phase, "content": []}
        yield self._told("added", {**self._item, "status": "in_progress"})

    def _delta(self, text: str, kind: PartKind) -> Iterator[bytes]:
        if self._kind is not kind:
            yield from self._close_part()
            yield from self._open_part(kind)
        self._part()[kind.word] += text
        more: Json = {"logprobs": []} if kind is TEXT else {}
        yield self.event(f"{kind.stem}.delta", **self._place(kind), delta=text, **more, **self._filler())

    def _open_part(self, kind: PartKind) -> Iterator[bytes]:
        assert self._item is not None
        more: Json = {"annotations": [], "logprobs": []} if kind is TEXT else {}
        part = {"type": kind.type, kind.word: "", **more}
        self._item.setdefault(kind.listed, []).append(part)
        self._kind = kind
        yield self.event(f"{kind.part}.added", **self._place(kind), part=part)

    def _close_part(self) -> Iterator[bytes]:
        if self._kind is None:
            return
        kind, part = self._kind, self._part()
        more: Json = {"logprobs": []} if kind is TEXT else {}
        yield self.event(f"{kind.stem}.done", **self._place(kind), **{kind.word: part[kind.word]}, **more)
        yield self.event(f"{kind.part}.done", **self._place(kind), part=part)
        self._kind = None

    def _part(self) -> Item:
        assert self._item is not None
        assert self._kind is not None
        part: Item = self._item[self._kind.listed][-1]
        return part

    def _place(self, kind: PartKind) -> Item:
        assert self._item is not None
        index = len(self._item[kind.listed]) - 1
        return {"item_id": self._item["id"], "output_index": len(self.pieces), kind.index: index}

    def _sealed(self, item: Item) -> Item:
        text = "".join(part["text"] for part in [*item["summary"], *item.get("content", ())])
        inner = {"text": text, "model": self._model, "prefix": self._prefix}
        return {**item, "encrypted_content": self._seals.seal(inner)}

    def _finished(self, item: Item) -> bytes:
        frame = self._told("done", item)
        piece = piece_of(item, self._seals)
        self._prefix = next_prefix(self._prefix, piece.seen)
        self.pieces.append(piece)
        return frame

    def _told(self, what: str, item: Item) -> bytes:
        return self.event(f"response.output_item.{what}", output_index=len(self.pieces), item=item)

    def _filler(self) -> Item:
        return {"obfuscation": "x7Qm"} if self._obfuscates else {}

    def _id(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_{self._mark}_{self._made}"
