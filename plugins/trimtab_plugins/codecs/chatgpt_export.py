"""The codec `chatgpt-export`: a conversation as ChatGPT's data export holds it. It only reads."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.codecs.chatgpt_export_messages import read_nodes
from trimtab_plugins.codecs.chatgpt_export_tree import read_way
from trimtab_plugins.codecs.reading import read_object
from trimtab_plugins.codecs.transcripts import Transcript, TranscriptReader, only_one, skipped, with_input
from trimtab_sdk import Decoded, Recognition


class ChatGPTExport(TranscriptReader):
    """Reads the branch of a conversation that was on the screen last; writes neutral messages.

    Calls of the app's own tools and what they gave are texts, for the export does not say which belong together.
    Pictures, sounds and uploaded files are not in the export.
    """

    name = "chatgpt-export"

    def recognize(self, data: object) -> Recognition:
        """Tell whether this is a conversation with a `mapping`, or a list of such."""
        records = data if isinstance(data, list) else [data]
        found = bool(records) and all(_is_conversation(record) for record in records)
        return Recognition.SURE if found else Recognition.NO

    def decode(self, data: object) -> Decoded:
        """Read a conversation; raise InvalidRequestError with the path of what is wrong, or for many of them."""
        if isinstance(data, list) and data:
            if len(data) > 1:
                raise only_one(data, [_title_of(record) for record in data])
            data = data[0]
        read = read_nodes(read_way(read_object(data, "")))
        return Decoded(with_input(read.messages), Transcript((*skipped(read.counts), *read.notes)))


def _is_conversation(record: object) -> bool:
    return isinstance(record, dict) and isinstance(record.get("mapping"), dict) and "current_node" in record


def _title_of(record: object) -> str:
    title = record.get("title") if isinstance(record, Mapping) else None
    return title if isinstance(title, str) else ""
