"""The bytes of an answer as events of a server (HTML standard, 9.2), within bounds."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from trimtab.turns.faults import CallFaultError
from trimtab_sdk.provider import Fault, ServerEvent

MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_INFLATED_BYTES = 256 * 1024
_GZIP = 16 + zlib.MAX_WBITS
_UNNAMED = "message"
_BOM = b"\xef\xbb\xbf"


def unreadable(detail: str) -> CallFaultError:
    """Give the fault of an answer that cannot be read."""
    return CallFaultError(Fault(code="PROVIDER_BAD_RESPONSE"), detail=detail)


class Lines:
    """Splits bytes into lines at CR, LF and CRLF, wherever they are cut.

    Neither byte is ever part of a longer UTF-8 character, so whole lines can be decoded, and a character that came
    in two pieces is whole by then. A line is over as soon as its CR is there.
    """

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """Give the lines that are complete now. Raises CallFaultError for a line over 8 MiB."""
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        for line in piece.splitlines(keepends=True):
            text = line.rstrip(b"\r\n")
            self._open.append(text)
            self._size += len(text)
            if self._size > MAX_LINE_BYTES:
                raise unreadable(f"a line is longer than {MAX_LINE_BYTES} bytes")
            self._after_cr = line.endswith(b"\r")
            if len(text) < len(line):
                yield self._take()

    def _take(self) -> str:
        line = b"".join(self._open)
        self._open.clear()
        self._size = 0
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        return line.decode("utf-8", "replace")


class Inflater:
    """Gives the bytes behind the pieces of a body, a bounded part at a time.

    `encoding` is the content encoding, "" or `gzip`; a server is asked for none, and some give gzip all the same.
    """

    def __init__(self, encoding: str, *, limit: int = MAX_ANSWER_BYTES) -> None:
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise unreadable("it has a content encoding that was not asked for")
        self._gzip = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
        self._left = limit
        self._raw_left = limit

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Give the piece decoded. Raises CallFaultError when the whole is over the limit, or is no gzip."""
        self._raw_left = self._within(self._raw_left, len(piece))
        for part in self._inflated(piece):
            self._left = self._within(self._left, len(part))
            yield part

    def _inflated(self, piece: bytes) -> Iterator[bytes]:
        if self._gzip is None:
            yield piece
            return
        more = bool(piece)
        while more:
            try:
                part = self._gzip.decompress(piece, _INFLATED_BYTES)
            except zlib.error as error:
                raise unreadable("its gzip is broken") from error
            yield part
            piece = self._gzip.unconsumed_tail
            if self._gzip.eof:
                piece = self._gzip.unused_data
                self._gzip = zlib.decompressobj(_GZIP)
            # A full part may have more behind it, even where all of the piece is taken.
            more = bool(piece) or len(part) == _INFLATED_BYTES

    @staticmethod
    def _within(left: int, size: int) -> int:
        if size > left:
            raise unreadable("it is longer than any answer may be")
        return left - size


class EventStream:
    """Reads server-sent events out of the pieces of a body."""

    def __init__(self) -> None:
        # The decoder is not among the package's public names; what it must do is pinned in our tests.
        from httpx_sse._decoders import SSEDecoder

        self._lines = Lines()
        self._decoder = SSEDecoder()

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Give the events that are complete now. One that the end of the body cuts off is never given."""
        for line in self._lines.feed(piece):
            event = self._decoder.decode(line)
            if event is not None and event.data:
                name = "" if event.event == _UNNAMED else event.event
                yield ServerEvent(data=event.data, event=name, id=event.id)
