"""What an edit may say, rule by rule. Each function tells what in an edit of the right types breaks its rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from unicodedata import category

from trimtab.fitting.checking import MAX_INSERTS, MAX_NOTE_CHARS, MAX_NOTES
from trimtab.fitting.guard import INSERT_SHARE, STRATEGY_REASONS, summary_share
from trimtab_sdk.edit import AT_GAP, BEFORE_INPUT, Edit, before
from trimtab_sdk.labels import labelled, without_label
from trimtab_sdk.messages import texts_of
from trimtab_sdk.request import Request

MAX_REASON_CHARS = 40
_LAYOUT = "\n\t"


def unknown_ids(request: Request, edit: Edit) -> Iterator[str]:
    """Tell which ids and anchors name no message of the request."""
    ids = {message.id for message in request.messages}
    anchors = {AT_GAP, BEFORE_INPUT, *map(before, ids)}
    named = [
        *(("drop", name) for name in edit.drop),
        *(("shorten", name) for name, _ in edit.shorten),
        *(("covers", name) for insert in edit.insert for name in insert.covers),
        *(("relevant", name) for name in edit.relevant),
    ]
    yield from (f"{where} names {name!r:.80}, which is no message" for where, name in named if name not in ids)
    for insert in edit.insert:
        if insert.anchor not in anchors:
            yield f"the anchor {insert.anchor!r:.80} is none of AT_GAP, BEFORE_INPUT and before(id) of a message"


def touched_protected(request: Request, edit: Edit, *, may_shorten: bool = False) -> Iterator[str]:
    """Tell what must stay and is dropped, or shortened where that is not allowed."""
    for name in edit.drop:
        if name in request.protected:
            yield f"drops {name!r}, which is in request.protected"
    for name, _ in edit.shorten:
        if name in request.protected and not may_shorten:
            yield f"shortens {name!r}, which is in request.protected"


def torn_groups(request: Request, edit: Edit) -> Iterator[str]:
    """Tell which groups are dropped in part."""
    for group in request.groups:
        left = [name for name in group.ids if name not in edit.drop]
        if left and len(left) < len(group.ids):
            yield f"drops a part of the group {group.ids}, but not {', '.join(left)}"


def wrong_spans(request: Request, edit: Edit) -> Iterator[str]:
    """Tell which spans do not name pieces of a text, in code points, ascending."""
    messages = {message.id: message for message in request.messages}
    for (name, path), spans in edit.shorten.items():
        if name not in messages:
            continue
        text = dict(texts_of(messages[name])).get(path)
        if text is None:
            yield f"shortens {name!r} at {path}, where no text stands; take the paths from texts_of(message)"
            continue
        end = 0
        for start, stop in spans:
            if not end <= start < stop <= len(text):
                yield f"keeps the span {(start, stop)} of {name!r} at {path}, a text of {len(text)} code points"
                break
            end = stop


def over_share(request: Request, edit: Edit, *, is_strategy: bool) -> Iterator[str]:
    """Tell which inserts cost more than the share of the budget they may cost together."""
    if len(edit.insert) > MAX_INSERTS:
        yield f"inserts {len(edit.insert)} texts, at most {MAX_INSERTS} are allowed"
    spent = 0
    for insert in edit.insert:
        summary = is_strategy and bool(insert.covers)
        share = summary_share(request.budget) if summary else int(request.budget * INSERT_SHARE)
        cost = request.cost_of_insert(insert.text)
        if spent + cost > share:
            yield f"an insert of {cost} tokens, {spent} spent before it, is over its share of {share}"
        else:
            spent += cost


def empty_inserts(edit: Edit) -> Iterator[str]:
    """Tell which inserts say nothing."""
    yield from (f"an insert at {one.anchor} has an empty text" for one in edit.insert if not one.text.strip())


def own_labels(edit: Edit) -> Iterator[str]:
    """Tell which inserts begin with something that looks like a label of the host."""
    for insert in edit.insert:
        head = insert.text.strip().partition("\n")[0]
        if head.startswith("[") and without_label(labelled(head, plugin="kit", summary=False)) != head:
            yield f"an insert begins with what looks like a label of the host: {head!r:.80}"


def dear_summaries(request: Request, edit: Edit) -> Iterator[str]:
    """Tell which summaries cost no less than what they cover."""
    for insert in edit.insert:
        covered = sum(request.tokens.get(name, 0) for name in insert.covers)
        cost = request.cost_of_insert(insert.text)
        if insert.covers and cost >= covered:
            yield f"a summary of {cost} tokens stands for messages of {covered}"


def loose_covers(edit: Edit) -> Iterator[str]:
    """Tell which covered messages stay."""
    for insert in edit.insert:
        yield from (
            f"a summary covers {name!r}, which is not dropped" for name in insert.covers if name not in edit.drop
        )


def leaving_relevant(edit: Edit) -> Iterator[str]:
    """Tell what is called relevant and is dropped all the same."""
    yield from (f"calls {name!r} relevant and drops it" for name in edit.relevant if name in edit.drop)


def unfit_words(edit: Edit, *, reasons: Collection[str] = STRATEGY_REASONS) -> Iterator[str]:
    """Tell which notes and reasons are long, many or hold control characters; `reasons` are the known ones."""
    if len(edit.notes) > MAX_NOTES:
        yield f"writes {len(edit.notes)} notes, at most {MAX_NOTES} are shown"
    for note in edit.notes:
        if len(note) > MAX_NOTE_CHARS:
            yield f"writes a note of {len(note)} characters, at most {MAX_NOTE_CHARS} are shown"
        if _hidden(note):
            yield f"writes a note with control characters: {note!a:.80}"
    for reason in sorted(set(edit.drop.values()) - set(reasons)):
        if not reason.strip() or len(reason) > MAX_REASON_CHARS:
            yield f"gives a reason of {len(reason)} characters, not 1 to {MAX_REASON_CHARS}: {reason!a:.80}"
        if _hidden(reason, allowed=""):
            yield f"gives a reason with control characters: {reason!a:.80}"


def _hidden(text: str, *, allowed: str = _LAYOUT) -> bool:
    """Whether a text holds control characters, or marks that turn text around."""
    return any(category(char) in ("Cc", "Cf") and char not in allowed for char in text)
