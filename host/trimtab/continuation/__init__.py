"""Carrying a conversation on with its provider, from one turn to the next.

Pure functions over plain data: nothing here stores, sends or waits.

    prompt = split_prompt(fitted, system_anywhere=codec.system_anywhere)
    turn = TurnFacts(provider=..., system_prompt_hash=system_prompt_hash(prompt.system),
                     toolset_hash=toolset_hash(tools), history=chain_history(prompt.history), ...)
    decision = decide_continuation(chat.last_provider_state, turn)       # before the first call
    ...                                                                  # after_cursor_error, if it is refused
    write = decide_turn_persistence(TurnEnd(turn=turn, outcome="completed", cursor=..., history=...))
"""

from trimtab.continuation.chain import EMPTY_CHAIN, HistoryChain, chain_history
from trimtab.continuation.compaction import compacts_protected
from trimtab.continuation.decision import (
    Continuation,
    ContinueWithCursor,
    DegradeToReplay,
    StartReplay,
    TurnFacts,
    decide_continuation,
)
from trimtab.continuation.envelope import (
    SCHEMA_VERSION,
    ContinuationEnvelope,
    Malformed,
    is_durable,
    parse_envelope,
    serialize_envelope,
)
from trimtab.continuation.hashes import (
    EMPTY_HISTORY,
    SCHEME,
    extend_history,
    history_hash,
    message_digest,
    system_prompt_hash,
    toolset_hash,
)
from trimtab.continuation.log import LogLine, log_lines
from trimtab.continuation.notices import (
    ABORT_SENTENCES,
    SENTENCES,
    ContinuationDegraded,
    ContinuationTransition,
    FallbackNotice,
)
from trimtab.continuation.persistence import (
    ClearState,
    KeepState,
    StateWrite,
    StoreEnvelope,
    TurnEnd,
    decide_turn_persistence,
)
from trimtab.continuation.prompt import Prompt, split_prompt
from trimtab.continuation.recovery import AbortTurn, after_cursor_error, results_in_flight
from trimtab.continuation.words import (
    DURABLE_MODES,
    THREADS,
    AbortCode,
    ClearCause,
    CursorFault,
    DegradeReason,
    DurableMode,
    LogWord,
    ReplayCause,
    TurnOutcome,
)

__all__ = [
    "ABORT_SENTENCES",
    "DURABLE_MODES",
    "EMPTY_CHAIN",
    "EMPTY_HISTORY",
    "SCHEMA_VERSION",
    "SCHEME",
    "SENTENCES",
    "THREADS",
    "AbortCode",
    "AbortTurn",
    "ClearCause",
    "ClearState",
    "Continuation",
    "ContinuationDegraded",
    "ContinuationEnvelope",
    "ContinuationTransition",
    "ContinueWithCursor",
    "CursorFault",
    "DegradeReason",
    "DegradeToReplay",
    "DurableMode",
    "FallbackNotice",
    "HistoryChain",
    "KeepState",
    "LogLine",
    "LogWord",
    "Malformed",
    "Prompt",
    "ReplayCause",
    "StartReplay",
    "StateWrite",
    "StoreEnvelope",
    "TurnEnd",
    "TurnFacts",
    "TurnOutcome",
    "after_cursor_error",
    "chain_history",
    "compacts_protected",
    "decide_continuation",
    "decide_turn_persistence",
    "extend_history",
    "history_hash",
    "is_durable",
    "log_lines",
    "message_digest",
    "parse_envelope",
    "results_in_flight",
    "serialize_envelope",
    "split_prompt",
    "system_prompt_hash",
    "toolset_hash",
]
