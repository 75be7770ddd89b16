"""Ending a turn whose process is dead, for who asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.store.protocol import StoredTurn
from trimtab.turns.holder import is_dead

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery


async def end_if_dead(machinery: Machinery, turn: StoredTurn) -> bool:
    """End a running turn whose process is dead, or silent for too long; tell whether it was."""
    if turn.state != "running" or not (turn.lease_until <= machinery.clock() or is_dead(turn.lease_holder)):
        return False
    await machinery.store.recover(now=machinery.clock(), is_dead=is_dead)
    return True
