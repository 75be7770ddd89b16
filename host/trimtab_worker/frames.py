"""Frames: what goes over the pipes between host and worker, both ways. Four bytes of length, then JSON."""

from __future__ import annotations

import json
import os
import struct

LENGTH = struct.Struct(">I")
MOST_SENT = 2**32 - 1


class HostGoneError(BaseException):
    """The host has hung up. No plugin that catches Exception keeps the worker alive after that."""


def pack(value: object) -> bytes:
    """Give the frame of a JSON value. Raises what `json.dumps` raises, and ValueError over 4 GiB."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(body) > MOST_SENT:
        raise ValueError(f"a frame of {len(body)} bytes is too large")
    return LENGTH.pack(len(body)) + body


class Pipe:
    """The worker's end: it waits until a whole frame is there, or written. Both raise HostGoneError."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def receive(self) -> object:
        """Give the value of the next frame."""
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        return json.loads(self._read(length).decode("utf-8", "surrogatepass"))

    def send(self, value: object) -> None:
        """Send a value."""
        self.write(pack(value))

    def write(self, frame: bytes) -> None:
        """Send a frame that is packed already."""
        rest = memoryview(frame)
        try:
            while rest:
                rest = rest[os.write(self._outgoing, rest) :]
        except BrokenPipeError:
            raise HostGoneError from None

    def _read(self, size: int) -> bytes:
        pieces = bytearray()
        while len(pieces) < size:
            piece = os.read(self._incoming, size - len(pieces))
            if not piece:
                raise HostGoneError
            pieces += piece
        return bytes(pieces)
