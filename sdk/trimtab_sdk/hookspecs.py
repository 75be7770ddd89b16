"""The hooks of a plugin. This module is the author's manual.

A strategy is a module or an instance with `trimtab_shift`, published under the entry-point group
`trimtab.strategies`; the entry's name is the strategy's name. An interceptor has `trimtab_intercept` and the
group `trimtab.interceptors`. The smallest strategy there is:

    from trimtab_sdk import Edit, hookimpl

    @hookimpl
    def trimtab_shift(request, services):
        drop, total = {}, request.total
        for group in request.groups:
            if total > request.target and request.protected.isdisjoint(group.ids):
                drop.update(dict.fromkeys(group.ids, "context-shift"))
                total -= group.tokens
        return Edit(drop=drop)

and its lines in pyproject.toml:

    [project.entry-points."trimtab.strategies"]
    drop-oldest = "my_package.drop_oldest"

Whatever a plugin answers is checked by the host: what is protected stays, groups stay whole, the count is done
again, and anything that is still over the budget leaves.
"""

from __future__ import annotations

import pluggy

from trimtab_sdk.edit import Edit
from trimtab_sdk.request import Request, Services, Traits

PROJECT = "trimtab"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def trimtab_shift(request: Request, services: Services) -> Edit | None:
    """Bring a conversation that is over its budget down to `request.target`.

    Called once in a fit when the request costs more than `request.budget`, and on every fit when the traits
    say `per_turn`. Answer with an Edit; None and an empty Edit change nothing. Drop groups whole: naming one
    member drops them all. Never drop or shorten an id in `request.protected`: the whole edit is rejected then.

    What is still over the budget after the call leaves by age, with the reason `final-budget`. When the hook
    raises, answers too late or breaks the contract, the host's own `shift_context` answers in its place and
    the report names the plugin.

        @hookimpl
        def trimtab_shift(request, services):
            drop, total = {}, request.total
            for group in sorted(request.groups, key=lambda group: -group.tokens):
                if total > request.target and request.protected.isdisjoint(group.ids):
                    drop.update(dict.fromkeys(group.ids, "context-shift"))
                    total -= group.tokens
            return Edit(drop=drop)
    """


@hookspec
def trimtab_intercept(request: Request, services: Services) -> Edit | None:
    """Change what is about to be sent: add a note, shorten a text, leave something out.

    Called on every fit, after the strategy, in the order the host app lists. `request` shows the context as
    the steps before left it. Answer with an Edit; None changes nothing. The inserts of interceptors are the
    first to leave when the request is over the budget. When the hook raises, answers too late or breaks the
    contract, it is skipped and the report names it.

        @hookimpl
        def trimtab_intercept(request, services):
            return Edit(insert=[Insert("Answer in French.", BEFORE_INPUT)])
    """


@hookspec
def trimtab_traits() -> Traits | None:
    """Say what the plugin takes and needs. Optional; called once, when the plugin is loaded.

    None stands for `Traits()`. When it raises or answers anything else, the plugin is not loaded.

        @hookimpl
        def trimtab_traits():
            words = {"type": "integer", "minimum": 1}
            return Traits(settings_schema={"properties": {"words": words}, "additionalProperties": False})
    """
