"""Why a call to a provider failed, in words that say what to do next.

The sentence of a provider is never among them: it may hold what nobody should read in a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from trimtab.fitting.cleaning import clean_note
from trimtab_sdk.errors import ProviderError
from trimtab_sdk.provider import CursorFault, Fault, FaultCode, clean_word

_SENTENCES: Mapping[FaultCode, str] = {
    "PROVIDER_AUTHENTICATION": "{provider} does not accept {key}",
    "PROVIDER_BAD_RESPONSE": "the answer of {provider} cannot be read; check its base_url and its driver",
    "PROVIDER_CONTENT_REFUSED": "{provider} refuses what the conversation says; change it and try again",
    "PROVIDER_CONTEXT_LENGTH": "the conversation is too long for {model} at {provider}; give its real "
    "context_limit under models in the configuration",
    "PROVIDER_CURSOR_LOST": "{provider} does not hold the conversation any more; send all of it again",
    "PROVIDER_FAILED": "{provider} failed; try again later",
    "PROVIDER_KEY_MISSING": "there is no key for {provider}; put it into the environment variable {variable}",
    "PROVIDER_MODEL_NOT_FOUND": "{provider} has no {model}; check the name and the base_url",
    "PROVIDER_OVERLOADED": "{provider} is overloaded; try again a little later",
    "PROVIDER_QUOTA_EXHAUSTED": "the account at {provider} is used up; look at its plan and its limits there",
    "PROVIDER_RATE_LIMITED": "{provider} was asked too often; try again a little later",
    "PROVIDER_REDIRECTED": "{provider} sends requests elsewhere, and none is redirected; set base_url to the "
    "address that answers itself",
    "PROVIDER_REQUEST_REFUSED": "{provider} refuses the request; check the options of the chat and the settings "
    "of the endpoint",
    "PROVIDER_STREAM_BROKEN": "the answer of {provider} broke off; try again",
    "PROVIDER_TIMEOUT": "{provider} did not answer in time; try again, or allow more time",
    "PROVIDER_TLS_FAILED": "there is no secure connection to {provider}; check its base_url, or give the file of "
    "its authority as ca_file",
    "PROVIDER_UNREACHABLE": "{provider} cannot be reached; check its base_url and whether it runs",
}
_WITHOUT_KEY = (
    "a request without a key; name the environment variable that holds it as key_variable of the endpoint"
)
_CODES: frozenset[str] = frozenset(get_args(FaultCode))
_CURSOR_FAULTS: tuple[object, ...] = (None, *get_args(CursorFault))
_MAX_SECONDS = 86_400
_MAX_TOKENS = 10**12


class CallFaultError(Exception):
    """Why one try of a call failed.

    - `repeatable`: the same request may be sent again now. Narrower than `fault.retryable`, which is for people.
    - `retry_after`: seconds the server asks to wait, None when it does not say.
    - `detail`: words of the host's own for people, such as which time limit ran out.
    """

    def __init__(
        self, fault: Fault, *, detail: str = "", repeatable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{fault.code} {detail}".strip())
        self.fault = fault
        self.detail = detail
        self.repeatable = repeatable
        self.retry_after = retry_after


def provider_error(
    fault: Fault,
    *,
    provider: str,
    model: str = "",
    variable: str = "",
    status: int = 0,
    retry_after: float | None = None,
    detail: str = "",
) -> ProviderError:
    """Make the error of a fault: its sentence, then what is known of the case.

    `variable` is the environment variable with the key, empty when there is none.
    """
    named = f"model {clean_note(model)!r}" if model else "this model"
    sentence = _SENTENCES[fault.code].format(
        provider=provider,
        model=named,
        variable=variable or "(none)",
        key=f"the key in {variable}; check it, and that it may use {named}" if variable else _WITHOUT_KEY,
    )
    facts = [detail, f"HTTP {status}" if status >= 300 else ""]
    known = ", ".join(fact for fact in facts if fact)
    return ProviderError(
        f"{sentence} ({known})" if known else sentence,
        fault=fault,
        provider=provider,
        model=model,
        status=status,
        retry_after=retry_after,
    )


def checked_fault(fault: object, *, secret: str | None = None) -> Fault | None:
    """Give a driver's fault with its words cleaned, None when it is none.

    A word that holds `secret` is left out: some servers repeat the key that they refuse.
    """
    if not isinstance(fault, Fault) or not isinstance(fault.code, str) or fault.code not in _CODES:
        return None
    if fault.cursor not in _CURSOR_FAULTS:
        return None
    return replace(
        fault,
        retryable=fault.retryable is True,
        cursor=fault.cursor if fault.code == "PROVIDER_CURSOR_LOST" else None,
        upstream_code=_word(fault.upstream_code, secret),
        param=_word(fault.param, secret),
        allowed=_tokens(fault.allowed),
        needed=_tokens(fault.needed),
        retry_after=_seconds(fault.retry_after),
        stale_reasoning=fault.stale_reasoning is True,
        unkept=fault.unkept is True,
    )


def _word(value: object, secret: str | None) -> str:
    word = clean_word(value)
    return "" if secret and secret in word else word


def _seconds(value: object) -> float | None:
    """Give a time to wait, None for what is none; the comparison lets no NaN through."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MAX_SECONDS else None


def _tokens(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_TOKENS else None
