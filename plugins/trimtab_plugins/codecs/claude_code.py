"""The codec `claude-code`: the transcripts that Claude Code keeps, one JSON object a line. It only reads."""

from __future__ import annotations

from trimtab_plugins.codecs.claude_code_branch import read_branch
from trimtab_plugins.codecs.claude_code_lines import TALKERS, read_lines
from trimtab_plugins.codecs.claude_code_messages import read_messages
from trimtab_plugins.codecs.transcripts import Transcript, TranscriptReader, skipped, with_input
from trimtab_sdk import Decoded, Recognition


class ClaudeCode(TranscriptReader):
    """Reads the branch that ends in the last message of a transcript; writes neutral messages.

    The lines of one answer become one message, each tool result one of its own. Sidechains, which are talks of
    subagents, are passed over, unless the file holds nothing else. So are lines that the app keeps for itself.
    """

    name = "claude-code"

    def recognize(self, data: object) -> Recognition:
        """Tell whether these are lines of a transcript, with a type each and a message in some."""
        talks = False
        for line in data if isinstance(data, list) else [data]:
            if not isinstance(line, dict) or not isinstance(line.get("type"), str):
                return Recognition.NO
            talks = talks or (line["type"] in TALKERS and isinstance(line.get("message"), dict))
        return Recognition.SURE if talks else Recognition.NO

    def decode(self, data: object) -> Decoded:
        """Read a list of lines, or the only one; raise InvalidRequestError with the path of what is wrong."""
        lines = read_lines(data)
        branch = read_branch(lines.talk)
        messages = read_messages(branch.lines)
        counts = lines.counts + branch.counts + messages.counts
        return Decoded(with_input(messages.messages), Transcript(skipped(counts)))
