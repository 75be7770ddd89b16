"""Encrypted content: opaque to a client, readable to the server that made it until its keys are rotated.

Nothing is secret here. A seal only has to notice that it was altered, or made elsewhere or with an older key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from itertools import count

from fakes.chat_replies import Json

_servers = count(1)


class SealError(Exception):
    """Encrypted content that cannot be read; `is_stale` when it is whole and only its key is gone."""

    def __init__(self, *, is_stale: bool) -> None:
        super().__init__("stale" if is_stale else "never made here")
        self.is_stale = is_stale


class Seals:
    """Makes and reads encrypted content. `name` is another one for every server of this process."""

    def __init__(self) -> None:
        self.name = f"{next(_servers):04x}"
        self._key = 1

    def rotate(self) -> None:
        """Make all content unreadable that was sealed before."""
        self._key += 1

    def seal(self, content: Json) -> str:
        """Seal a JSON value."""
        text = json.dumps([self.name, self._key, content], ensure_ascii=False)
        return base64.urlsafe_b64encode(zlib.compress(_mac(text) + text.encode())).decode()

    def open(self, sealed: str) -> Json:
        """Give the JSON value back. Raises SealError."""
        try:
            whole = zlib.decompress(base64.b64decode(sealed, b"-_", validate=True))
        except (ValueError, zlib.error):
            raise SealError(is_stale=False) from None
        mac, text = whole[:16], whole[16:].decode(errors="replace")
        if mac != _mac(text):
            raise SealError(is_stale=False)
        name, key, content = json.loads(text)
        if (name, key) != (self.name, self._key):
            raise SealError(is_stale=True)
        return content


def _mac(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
