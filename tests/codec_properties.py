"""Rules without exceptions that hold for every codec, each over inputs that its test draws."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from trimtab_sdk import Codec, InvalidRequestError, Message, texts_of, with_texts


def check_read_or_refused(codec: Codec, data: Any) -> None:
    """A codec reads an input, with an id for each message, and writes it, or refuses it; it never changes it."""
    before = copy.deepcopy(data)
    codec.recognize(data)
    try:
        decoded = codec.decode(data)
    except InvalidRequestError:
        pass
    else:
        assert len({message.id for message in decoded.messages}) == len(decoded.messages)
        codec.encode(decoded.messages, decoded.originals)
    assert data == before


def read_after_shortening(
    codec: Codec, chat: list[Any], data: st.DataObject
) -> tuple[list[Message], list[Message]]:
    """Shorten a text that `data` draws: what a reader finds in what the codec writes, and what it must find."""
    decoded = codec.decode(chat)
    changed = list(decoded.messages)
    places = [(at, path) for at, message in enumerate(changed) for path, _ in texts_of(message)]
    if places:
        at, path = data.draw(st.sampled_from(places))
        changed[at] = with_texts(changed[at], {path: "short"})
    again = codec.decode(codec.encode(changed, decoded.originals).messages)
    return list(again.messages), changed
