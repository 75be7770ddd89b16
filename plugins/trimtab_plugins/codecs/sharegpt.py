"""The codec `sharegpt`: conversations of data sets, with `from` and `value` in each turn. It only reads."""

from __future__ import annotations

from trimtab_plugins.codecs.reading import MISSING, JsonObject, read_list, read_object, read_text
from trimtab_plugins.codecs.sharegpt_turns import read_turns
from trimtab_plugins.codecs.transcripts import Transcript, TranscriptReader, only_one, skipped, with_input
from trimtab_sdk import Decoded, Message, Recognition, Text

_SYSTEM_ID = "system"
_READ_KEYS = frozenset({"conversations", "system"})


class ShareGPT(TranscriptReader):
    """Reads one conversation, an object with `conversations` or a list of turns; writes neutral messages.

    Messages are named `m` and the position of their turn. A `system` text beside the turns becomes the first
    message.
    """

    name = "sharegpt"

    def recognize(self, data: object) -> Recognition:
        """Tell whether every turn has `from` and `value`; of a list of conversations, whether each has turns."""
        if _is_list_of_records(data):
            return Recognition.SURE
        turns = data.get("conversations") if isinstance(data, dict) else data
        return Recognition.SURE if _are_turns(turns) else Recognition.NO

    def decode(self, data: object) -> Decoded:
        """Read a conversation; raise InvalidRequestError with the path of what is wrong, or for many of them."""
        record, turns, path = _record_and_turns(data)
        read = read_turns(turns, path)
        messages = [*_system_message(record), *read.messages]
        left = {f"key {key}": 1 for key in sorted(record.keys() - _READ_KEYS)}
        return Decoded(with_input(messages), Transcript((*read.notes, *skipped(left))))


def _record_and_turns(data: object) -> tuple[JsonObject, list[object], str]:
    if isinstance(data, list) and _is_list_of_records(data):
        if len(data) > 1:
            raise only_one(data, [])
        data = data[0]
    if isinstance(data, list):
        return {}, data, "messages"
    record = read_object(data, "")
    return record, read_list(record.get("conversations", MISSING), "conversations"), "conversations"


def _is_list_of_records(data: object) -> bool:
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(record, dict) and _are_turns(record.get("conversations")) for record in data)
    )


def _are_turns(turns: object) -> bool:
    return (
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(turn, dict) and "from" in turn and "value" in turn for turn in turns)
    )


def _system_message(record: JsonObject) -> list[Message]:
    text = read_text(record.get("system") or "", "system")
    return [Message(_SYSTEM_ID, "system", (Text(text),), source="system")] if text else []
