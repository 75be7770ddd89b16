"""The fault behind an error of DeepSeek, which has the shape and most words of Chat Completions.

A status tells more here than the code does: that is `invalid_request_error` for a conversation that is too long,
for reasoning that is missing and for a result without its call.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab_plugins.providers import chat_faults
from trimtab_plugins.providers.chat_faults import read_complaint
from trimtab_sdk import Fault

_REASONING = "reasoning_content"


def fault_of(status: int, body: object) -> Fault:
    """Name the fault behind an answer with a status of 400 or more; `param` tells of refused reasoning."""
    fault = chat_faults.fault_of(status, body)
    if fault.code != "PROVIDER_REQUEST_REFUSED" or fault.param:
        return fault
    speaks = _REASONING in read_complaint(body).sentence
    return replace(fault, param=_REASONING) if speaks else fault
