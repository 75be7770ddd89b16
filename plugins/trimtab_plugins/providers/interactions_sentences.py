"""What the sentences in errors of Google's servers say, where their words say too little."""

from __future__ import annotations

import re

from trimtab_plugins.providers.interactions_complaints import Complaint
from trimtab_sdk import CursorFault

_BAD_KEY = re.compile(r"api key (?:not valid|not found|expired|was reported as leaked|is invalid)|invalid api key")
_OTHER_SCHEMA = re.compile(r"legacy interactions api")
_MODEL = re.compile(r"\bmodels?\b")
_SIGNATURE = re.compile(
    r"thought[ _]?signature|\bsignature\b[^.]{0,60}\b(?:invalid|not valid|corrupt|mismatch|expired)"
)
_INTERACTION = re.compile(r"previous[ _]interaction|\binteractions/[\w-]|\binteraction\b|\bv1_[\w-]{8}")
_BY_ID = re.compile(r"previous[ _]interaction|\binteraction[ _]?id\b")
_OPEN_CALL = re.compile(
    r"function[ _](?:call|result|response)|tool[ _](?:call|result|output|response)|requires_action"
)
_GONE = re.compile(
    r"not (?:be )?found|does ?n[o']t exist|no such|unknown (?:previous[ _])?interaction|expired|deleted|no longer"
    r"|purged|denied|(?:cannot|can't) be continued|\bis (?:still )?(?:in[ _]progress|failed|cancelled|incomplete)"
)
_UNREADABLE = re.compile(
    r"invalid|malformed|not (?:a )?valid|(?:cannot|could not|failed to) (?:be )?(?:parse|decode)"
)
_LASTING = re.compile(
    r"per[ _-]?day|daily|limit: 0\b|credits? (?:(?:are|is|have been|has been|were) )?(?:depleted|exhausted)"
    r"|spend(?:ing)? (?:cap|limit)"
)


def is_bad_key(text: str) -> bool:
    """Tell whether a sentence, in small letters like all here, says that the key is a wrong one."""
    return _BAD_KEY.search(text) is not None


def is_of_other_schema(text: str) -> bool:
    """Tell whether a sentence says that the request speaks a schema which is not served any more."""
    return _OTHER_SCHEMA.search(text) is not None


def is_of_model(text: str) -> bool:
    """Tell whether a sentence speaks of a model."""
    return _MODEL.search(text) is not None


def is_of_signature(text: str) -> bool:
    """Tell whether a sentence says that a thought is not signed as it has to be."""
    return _SIGNATURE.search(text) is not None


def is_lasting(text: str) -> bool:
    """Tell whether a limit is one that does not pass within minutes."""
    return _LASTING.search(text) is not None


def cursor_fault(status: int, complaint: Complaint, text: str) -> CursorFault | None:
    """Tell what is wrong with the interaction that a request goes on from, None when it is something else.

    Of an id that is gone Google says `not_found`, at times with a sentence that names nothing. An interaction
    whose calls have no results is there all the same.
    """
    if is_of_signature(text) or (status == 400 and _OPEN_CALL.search(text)):
        return None
    if not _INTERACTION.search(text):
        terse = status == 404 and "not_found" in complaint.words and not is_of_model(text)
        return "cursor_expired" if terse else None
    if _GONE.search(text) or status in (404, 410):
        return "cursor_expired"
    if not _BY_ID.search(text):
        return None
    if status == 403:
        return "cursor_expired"
    return "cursor_invalid" if _UNREADABLE.search(text) else None
