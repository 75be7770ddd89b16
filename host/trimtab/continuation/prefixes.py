"""Hashes of prefixes: of all that stands in front of reasoning, in the form and the order in which it was sent.

Scheme `prefix-1`: a chain. Its first link is SHA-256 over the canonical JSON of the head (system text and tools),
each further one over the link before it and the digest of one block. A prefix is written `prefix-1:` and 64
hexadecimal digits. Whatever changes in what is hashed or how makes a new scheme.
"""

from __future__ import annotations

from hashlib import sha256

from trimtab.continuation.hashes import canonical

SCHEME = "prefix-1"


def head_link(head: object) -> bytes:
    """Give the link behind a head. Raises TypeError, ValueError or RecursionError for what JSON cannot hold."""
    return sha256(b"trimtab prefix " + canonical(head).encode("ascii")).digest()


def block_digest(value: object) -> bytes:
    """Give the 32 bytes that stand for a block. Raises as `head_link` does."""
    return sha256(canonical(value).encode("ascii")).digest()


def prefix_hash(link: bytes) -> str:
    """Write a link as it is stored."""
    return f"{SCHEME}:{link.hex()}"
