"""What is wrong with a request before any room of the host has seen it. Each has a code and an HTTP status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab_sdk.errors import InvalidRequestError, TrimtabError

STATUSES: Mapping[str, int] = {
    "UNAUTHENTICATED": 401,
    "ORIGIN_NOT_ALLOWED": 403,
    "ROUTE_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "NOT_ACCEPTABLE": 406,
    "REQUEST_TIMEOUT": 408,
    "BODY_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "HOST_NOT_ALLOWED": 421,
    "TOO_MANY_STREAMS": 429,
    "HEADERS_TOO_LARGE": 431,
    "SERVER_BUSY": 503,
}


class HttpError(TrimtabError):
    """A request that is refused at the door. `headers` go out with the response."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = dict(headers or {})
        self.data = dict(details or {})

    def _details(self) -> dict[str, object]:
        return dict(self.data)


class MalformedError(InvalidRequestError):
    """A request that cannot be read, as opposed to one that cannot be done: no JSON, or not what the schema says.

    `errors` has `path` and `message` of each field that is wrong, at most the first 20.
    """

    def __init__(self, message: str, *, path: str = "", errors: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(message, path=path)
        self.errors = tuple(dict(one) for one in errors)

    def _details(self) -> dict[str, object]:
        return {"path": self.path, "errors": [dict(one) for one in self.errors]}
