"""All attacks of the suite, in the order of the table."""

from __future__ import annotations

from hostile.attack import Attack
from hostile.attacks import (
    answering,
    asking,
    busting,
    calling_out,
    configuring,
    counting,
    ending,
    filling,
    framing,
    inserting,
    meddling,
    publishing_lies,
    reaching,
    reading,
    remembering,
    schemas,
    telling,
    timing,
    unveiling,
)

_MODULES = (
    answering,
    inserting,
    telling,
    asking,
    counting,
    timing,
    ending,
    filling,
    reading,
    calling_out,
    reaching,
    meddling,
    remembering,
    unveiling,
    busting,
    framing,
    schemas,
    publishing_lies,
    configuring,
)
ATTACKS: tuple[Attack, ...] = tuple(attack for module in _MODULES for attack in module.ATTACKS)
