"""Making a group smaller by keeping the beginnings of its texts."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_sdk import Group, Path, Request, Services, Span, keep_spans, texts_of

LEAST_CHARS = 20
"""A shorter beginning tells the model nothing."""


def shorten_group(
    request: Request, services: Services, group: Group, *, room: int
) -> Mapping[tuple[str, Path], list[Span]]:
    """Give the spans that bring a group down to `room` tokens, nothing when that cannot be done.

    The longest text is cut first, at the last blank that fits; each text keeps at least 20 characters.
    """
    members = {message.id: message for message in request.messages}
    excess = group.tokens - room
    texts = [
        (services.count(text), name, path, text)
        for name in group.ids
        for path, text in texts_of(members[name])
        if len(text) > LEAST_CHARS
    ]
    shorten: dict[tuple[str, Path], list[Span]] = {}
    for tokens, name, path, text in sorted(texts, key=lambda entry: -entry[0]):
        if excess <= 0:
            break
        end = _longest_beginning(text, services, most=tokens - excess)
        cut = services.count(keep_spans(text, [(0, end)]))
        if cut < tokens:
            shorten[name, path] = [(0, end)]
            excess -= tokens - cut
    return shorten if excess <= 0 else {}


def _longest_beginning(text: str, services: Services, *, most: int) -> int:
    """Give the length of the longest beginning that costs at most `most` tokens with its marker."""

    def fits(end: int) -> bool:
        return services.count(keep_spans(text, [(0, end)])) <= most

    low, high = LEAST_CHARS, max(LEAST_CHARS, most)
    while high < len(text) - 1 and fits(high):
        low, high = high, 2 * high
    high = min(high, len(text) - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return _at_blank(text, low)


def _at_blank(text: str, end: int) -> int:
    blank = max(text.rfind(" ", LEAST_CHARS, end + 1), text.rfind("\n", LEAST_CHARS, end + 1))
    return blank if blank > end - 80 and blank > 0 else end
