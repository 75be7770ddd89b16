"""What the troubles of a connection are called, and which of them came to nothing for certain."""

from __future__ import annotations

import socket
import ssl
from typing import TypeVar

import h11
import httpcore

from trimtab.turns.faults import CallFaultError
from trimtab.turns.watching import SilentCloseError
from trimtab_sdk.provider import Fault, FaultCode

_E = TypeVar("_E", bound=Exception)
# A host name that is none is a UnicodeError on its way to the resolver.
CONNECTION_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    OSError,
    UnicodeError,
)


def opening_fault(error: Exception, *, connect_seconds: float) -> CallFaultError:
    """Say why there is no answer, from what httpcore raised before its head was there.

    Repeatable is what came to nothing for certain: no connection, or one that was closed before the first byte of
    an answer, as a server does with connections it has kept long enough.
    """
    if isinstance(error, httpcore.ConnectTimeout):
        detail = f"connect_seconds, {connect_seconds:g}, ran out"
        return _fault("PROVIDER_TIMEOUT", detail, retryable=True, repeatable=True)
    if isinstance(error, httpcore.PoolTimeout):
        return _fault("PROVIDER_TIMEOUT", "no connection became free", retryable=True)
    if isinstance(error, httpcore.ConnectError | OSError | UnicodeError):
        return _connect_fault(error)
    if isinstance(error, SilentCloseError):
        detail = "it closed the connection without an answer"
        return _fault("PROVIDER_UNREACHABLE", detail, retryable=True, repeatable=True)
    if _cause(error, h11.RemoteProtocolError) is not None:
        return _fault("PROVIDER_BAD_RESPONSE", "it does not speak HTTP")
    if isinstance(error, httpcore.NetworkError | httpcore.RemoteProtocolError):
        return broken("before its head was complete")
    return _fault("PROVIDER_FAILED", "the request could not be sent")


def broken(detail: str) -> CallFaultError:
    """Give the fault of an answer that ended in the middle."""
    return _fault("PROVIDER_STREAM_BROKEN", detail, retryable=True)


def _connect_fault(error: Exception) -> CallFaultError:
    secure = _cause(error, ssl.SSLError)
    if secure is None or isinstance(secure, ssl.SSLEOFError):
        return _fault("PROVIDER_UNREACHABLE", _network_words(error), retryable=True, repeatable=True)
    reason = secure.verify_message if isinstance(secure, ssl.SSLCertVerificationError) else secure.reason
    return _fault("PROVIDER_TLS_FAILED", reason or "")


def _network_words(error: Exception) -> str:
    if _cause(error, socket.gaierror) is not None:
        return "no address is known for its name"
    return "the connection was refused" if _cause(error, ConnectionRefusedError) is not None else ""


def _cause(error: BaseException | None, kind: type[_E]) -> _E | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _fault(code: FaultCode, detail: str, *, retryable: bool = False, repeatable: bool = False) -> CallFaultError:
    return CallFaultError(Fault(code=code, retryable=retryable), detail=detail, repeatable=repeatable)
