"""Turns that nobody has to listen to."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from trimtab.store.protocol import KeyTakenError
from trimtab.turns.running import TurnRunner
from trimtab.turns.starting import begin_turn
from trimtab_sdk.errors import InvalidRequestError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.work import Ask


async def start_detached(machinery: Machinery, ask: Ask) -> str:
    """Begin a turn with nobody listening and give its id, or that of the turn that was begun with its key.

    Raises what `begin_turn` raises, and InvalidRequestError when the key was used for something else.
    """
    keyed = replace(ask, fingerprint=_fingerprint(ask))
    try:
        return await TurnRunner(machinery, lambda: begin_turn(machinery, keyed)).begin()
    except KeyTakenError as taken:
        turn = await machinery.store.get_turn(taken.turn_id, owner=ask.owner)
        if turn.options.get("fingerprint") != keyed.fingerprint:
            raise InvalidRequestError("this key was used for another input; take a new one", path="key") from taken
        return turn.id


def _fingerprint(ask: Ask) -> str:
    """Give what tells one input from another: what is said and which tools go with it, no ids."""
    said = [(message.role, message.name, message.parts) for message in ask.input]
    return sha256(repr((said, ask.client_tools)).encode("utf-8", "surrogatepass")).hexdigest()
