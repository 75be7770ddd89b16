"""What an interceptor before it took out for good must not come back."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_unveil = partial(Attack, family="redaction", defence="guard", kind="interceptor", play="redacted")
_SEEN = "text = dict(texts_of(next(one for one in request.messages if one.id == 'm18')))[(0,)]\n"

ATTACKS = (
    _unveil(
        name="a secret looked for",
        does="looks for what was taken out in the copies it was given",
        body="""
            SAID.extend(f'GOT-IT {one.id}' for one in request.messages if 'key-' in repr(one))
            return Edit(notes=['tried', *SAID])
            """,
    ),
    _unveil(
        name="a secret brought back",
        does="keeps a span as long as the text was before",
        body="return Edit(shorten={('m18', (0,)): [(0, 110)]})",
        told="^PLUGIN_REJECTED",
    ),
    _unveil(
        name="a cut undone",
        does="keeps everything but the mark of the cut",
        body=_SEEN
        + "at = text.index('[…]')\n"
        + "return Edit(shorten={('m18', (0,)): [(0, at), (at + 3, len(text))]}, notes=['tried'])",
    ),
    _unveil(
        name="a cut moved",
        does="cuts the text again, so that the spans of the former cut name other words",
        body=_SEEN + "return Edit(shorten={('m18', (0,)): [(9, len(text))]}, notes=['tried'])",
    ),
)
