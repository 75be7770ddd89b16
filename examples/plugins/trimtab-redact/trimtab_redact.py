"""An interceptor that cuts out what looks like a secret: keys, tokens, passwords.

It never writes a text of its own. It names the spans to keep, and the host slices its own original there and puts
`[…]` where something is gone. What tells the kind of a secret (`sk-`, `password:`) stays, so the model sees that
something stood there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trimtab_sdk import MARKER, Edit, Message, Path, Request, Span, ToolCall, Traits, hookimpl, texts_of

# What a group matches goes. Every repetition has a bound, and none can begin anew inside of what another has
# looked at, so the time to search a text grows no faster than the text.
_SECRETS = re.compile(
    r"(?<![A-Za-z0-9_-])sk-(?:[a-z]{2,6}-)?(?P<key>[A-Za-z0-9_-]{16,256})"
    r"|\b(?:gh[pousr]|github_pat)_(?P<forge>[A-Za-z0-9_]{20,256})"
    r"|\b(?:AKIA|ASIA)(?P<cloud>[A-Z0-9]{16})\b"
    r"|(?<![A-Za-z0-9_-])eyJ(?P<jwt>[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,4096}\.[A-Za-z0-9_-]{4,4096})"
    r"|://[^\s:/@]{1,64}:(?P<url>[^\s:/@]{3,128})@"
    r"|(?i:password|passwd|passphrase|secret|token|api[ _-]?key|access[ _-]?key)"
    r"[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<named>[^\s\"',;\[\]{}]{6,256})"
)
_PEM_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----")
_PEM_ENDS = "-----END"

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "properties": {"protected": {"type": "boolean", "default": False}},
    "additionalProperties": False,
}


@hookimpl
def trimtab_traits() -> Traits:
    """Take the setting of the README."""
    return Traits(settings_schema=SETTINGS)


@hookimpl
def trimtab_intercept(request: Request) -> Edit | None:
    """Keep every text without its secrets; in what must stay only when the setting `protected` says so."""
    everywhere = request.settings.get("protected", False) is True
    shorten: dict[tuple[str, Path], list[Span]] = {}
    passed_over: list[str] = []
    for message in request.messages:
        found = {(message.id, path): spans for path, spans in _cuts(message)}
        if found and not everywhere and message.id in request.protected:
            passed_over.append(message.id)
        else:
            shorten.update(found)
    notes = [*_told_of_protected(passed_over), *_told_of_calls(request)]
    return Edit(shorten=shorten, notes=notes) if shorten or notes else None


def _cuts(message: Message) -> Iterator[tuple[Path, list[Span]]]:
    """Give the texts of a message with a secret in them, and what to keep of each."""
    for path, text in texts_of(message):
        secrets = _merged([*_found(text), *_private_keys(text)])
        if secrets:
            yield path, _around(secrets, len(text))


def _found(text: str) -> Iterator[Span]:
    for match in _SECRETS.finditer(text):
        group = match.lastgroup or ""
        # What was cut before stays as it is: a conversation is sent, stored and fitted again.
        if not match[group].startswith(MARKER):
            yield match.span(group)


def _private_keys(text: str) -> Iterator[Span]:
    at = 0
    while begin := _PEM_BEGINS.search(text, at):
        end = text.find(_PEM_ENDS, begin.end())
        at = len(text) if end < 0 else end
        if text[begin.end() : at].strip() not in ("", MARKER):
            yield begin.end(), at


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _around(cuts: list[Span], length: int) -> list[Span]:
    """Give the spans between cuts: ascending, apart, none empty."""
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), length]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _told_of_protected(ids: list[str]) -> Iterator[str]:
    if ids:
        yield f"{len(ids)} protected messages keep what looks like a secret; the setting `protected` cuts it"


def _told_of_calls(request: Request) -> Iterator[str]:
    """Tell of secrets in the arguments of tool calls: an edit cannot shorten these."""
    calls = [part for message in request.messages for part in message.parts if isinstance(part, ToolCall)]
    found = sum(any(True for _ in _found(call.arguments)) for call in calls)
    if found:
        yield f"the arguments of {found} tool calls hold what looks like a secret; these cannot be shortened"
