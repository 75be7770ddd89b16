"""The errors of the Responses API, beside those that every OpenAI endpoint has."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.chat_judge import Wrong
from fakes.chat_refusals import REFUSALS, Kind, error_body, refusal_with
from fakes.chat_replies import PlainReply

BAD = "invalid_request_error"
RESPONSES_REFUSALS: Mapping[str, Kind] = {
    **REFUSALS,
    "context": Kind(
        400,
        BAD,
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
    ),
    "cursor": Kind(
        400,
        BAD,
        "previous_response_not_found",
        "Previous response with id 'resp_0' not found.",
        "previous_response_id",
    ),
    "cursor-terse": Kind(400, BAD, BAD, "Invalid `previous_response_id`."),
    "cursor-malformed": Kind(
        400,
        BAD,
        "invalid_value",
        "Invalid 'previous_response_id': 'x'. Expected an ID that begins with 'resp'.",
        "previous_response_id",
    ),
    "no-tool-output": Kind(400, BAD, None, "No tool output found for function call call_0.", "input"),
    "stale-reasoning": Kind(
        400,
        BAD,
        "invalid_encrypted_content",
        "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    ),
    "slow-down": Kind(429, "rate_limit_error", "slow_down", "Your requests grow too fast. Please slow down."),
    "credit": Kind(429, "insufficient_quota", "credit_balance_exhausted", "Your credit balance is exhausted."),
}
"""The kinds of refusal by name: status, type, code, text, param."""


class RefusedError(Exception):
    """A request that gets an error; `is_fault` when no client should have sent it."""

    def __init__(self, wrong: Wrong, *, status: int = 400, is_fault: bool = True) -> None:
        super().__init__(wrong.message)
        self.wrong = wrong
        self.status = status
        self.is_fault = is_fault

    @property
    def reply(self) -> PlainReply:
        """The error on the wire."""
        return refusal_with(self.status, error_body(str(self), code=self.wrong.code, param=self.wrong.param))
