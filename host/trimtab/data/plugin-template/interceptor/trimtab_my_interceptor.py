"""An interceptor: changes what is about to be sent, on every fit."""

from trimtab_sdk import Edit, Path, Request, Services, Span, hookimpl, texts_of

LONGEST = 4_000
BEGINNING = 2_000
END = 500


@hookimpl
def trimtab_intercept(request: Request, services: Services) -> Edit | None:
    """Keep beginning and end of long tool results; the host writes `[…]` between them."""
    shorten: dict[tuple[str, Path], list[Span]] = {}
    for message in request.messages:
        if message.role != "tool" or message.id in request.protected:
            continue
        for path, text in texts_of(message):
            if len(text) > LONGEST:
                shorten[message.id, path] = [(0, BEGINNING), (len(text) - END, len(text))]
    return Edit(shorten=shorten) if shorten else None
