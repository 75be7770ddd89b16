"""A request as it goes out: address, headers and body, checked before there is a connection.

A driver gives a path, headers and a body. Where they go, and who says so, is not for it to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from trimtab.memo_json import MemoJson
from trimtab.turns.targets import Target
from trimtab_sdk.errors import InvalidRequestError, Origin, PluginCrashedError, PluginRejectedError, TrimtabError
from trimtab_sdk.provider import CountsTokens, ProviderCall, ProviderRequest

_PATH = re.compile(r"/?[A-Za-z0-9\-._~!$&'()*+,;=:@%]+(?:/[A-Za-z0-9\-._~!$&'()*+,;=:@%]+)*/?")
_QUERY = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,100}")
_VALUE = re.compile(r"[!-~](?:[ -~]{0,8190}[!-~])?")
_PREFIX = re.compile(r"[ -~]{0,100}")
_MAX_PATH = 4096
_RESERVED = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "cookie2",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    }
)
_HOST_HEADERS = (
    ("accept", "text/event-stream, application/json"),
    ("accept-encoding", "identity"),
    ("content-type", "application/json"),
    ("user-agent", "trimtab"),
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that only has to be sent, by POST. Headers hold the key, so they are not shown."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)


def prepare(target: Target, call: ProviderCall, *, memo: MemoJson | None = None) -> Prepared:
    """Ask the driver for the request and check it. The same call gives the same bytes.

    `memo` knows how messages of former requests were written.

    Raises PluginCrashedError when the driver raises, PluginRejectedError when what it gives may not be sent; an
    error of Trimtab's own, such as InvalidRequestError, passes through.
    """
    return _checked(target, call, target.provider.request, memo)


def prepare_count(target: Target, call: ProviderCall) -> Prepared:
    """Ask the driver for the request that has a call counted, and check it as `prepare` does.

    Raises InvalidRequestError when this provider counts nothing.
    """
    driver = target.provider
    if not isinstance(driver, CountsTokens):
        raise InvalidRequestError(f"the provider {target.name!r} counts no tokens", path="provider")
    return _checked(target, call, driver.count_request, None)


def with_grant(target: Target, prepared: Prepared, headers: Mapping[str, str]) -> Prepared:
    """Give a request with the key of the target, and headers that the host app adds.

    Raises PluginRejectedError for headers that may not be set, ValueError for a key that cannot be sent.
    """
    if not _VALUE.fullmatch(target.key):
        raise ValueError("the key holds blanks at its ends, control characters or letters beyond ASCII")
    known = dict(prepared.headers) | dict(_headers(target, headers))
    return replace(prepared, headers=tuple(sorted(known.items())))


def _checked(
    target: Target, call: ProviderCall, write: Callable[[ProviderCall], object], memo: MemoJson | None
) -> Prepared:
    try:
        request = write(call)
    except TrimtabError:
        raise
    except Exception as error:
        raise PluginCrashedError(type(error).__name__, origin=_origin(target), hook="request") from error
    if not isinstance(request, ProviderRequest):
        raise _rejected(target, "it gives no ProviderRequest")
    body = _body(target, request.body, memo if memo is not None else MemoJson())
    return Prepared(_url(target, request.path), _headers(target, request.headers), body)


def _url(target: Target, path: object) -> str:
    """Give the address. The path is put behind that of the base URL as it is, and cannot lead out of it."""
    if not isinstance(path, str) or len(path) > _MAX_PATH:
        raise _rejected(target, "its path is no text, or too long")
    bare, mark, query = path.partition("?")
    segments = unquote(bare).replace("\\", "/").split("/")
    if not _PATH.fullmatch(bare) or not _QUERY.fullmatch(query) or {".", ".."} & {*segments}:
        raise _rejected(target, "its path is not one relative to the base URL")
    return f"{target.base_url}/{bare.removeprefix('/')}{mark}{query}"


def _headers(target: Target, given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping):
        raise _rejected(target, "its headers are no mapping")
    credential = target.provider.credential
    place = credential.header.lower()
    headers = dict(_HOST_HEADERS)
    for name, value in given.items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise _rejected(target, "one of its headers has no proper name")
        if name.lower() in _RESERVED or name.lower() == place:
            raise _rejected(target, f"it sets the header {name!r}, which is the host's")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise _rejected(target, f"its header {name!r} is no printable ASCII text")
        headers[name.lower()] = value
    if target.key:
        headers[_credential_header(target, place)] = credential.prefix + target.key
    return tuple(sorted(headers.items()))


def _credential_header(target: Target, name: str) -> str:
    known = name == "authorization" or name not in _RESERVED
    if not known or not _HEADER.fullmatch(name) or not _PREFIX.fullmatch(target.provider.credential.prefix):
        raise _rejected(target, "its credential names no header that a key may go into")
    return name


def _body(target: Target, body: object, memo: MemoJson) -> bytes:
    if not isinstance(body, Mapping):
        raise _rejected(target, "its body is no object")
    try:
        return memo.dumps(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise _rejected(target, f"its body is no JSON: {type(error).__name__}") from error


def _origin(target: Target) -> Origin:
    return Origin(target.provider.name)


def _rejected(target: Target, reason: str) -> PluginRejectedError:
    return PluginRejectedError(reason, origin=_origin(target), hook="request")
