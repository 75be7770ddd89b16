"""Whether a plugin leaves alone what stood before the former input, so that a provider's prompt cache still holds.

Between two requests of a conversation the messages before the former input are the part that a provider may have
cached. When a plugin treats them otherwise than the last time, and nothing outside the plugin explains that, the
cache is lost: a break. Three breaks and the plugin's texts go before the input, three more and it is not called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from trimtab.fitting.account import Cuts, Deed, PluginKey
from trimtab.loading.plugins import SHIFT

BREAKS = 3

Stage: TypeAlias = Literal["at-input", "off"]
"""What became of a plugin that broke the prefix too often: its texts go before the input, or it is not called."""


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a fit besides what single plugins did.

    - `end`: the index of the first message of the current input in the conversation; what stands before it is the
      prefix of the next request.
    - `gone`: the ids that were not sent; `cuts`: id → what stayed of a message, whoever cut it.
    """

    end: int
    gone: Container[str]
    cuts: Mapping[str, Cuts]


@dataclass(frozen=True, slots=True)
class Standing:
    """How often a plugin broke the prefix, and what it did the last time, None where that is not comparable."""

    breaks: int = 0
    last: Deed | None = None

    @property
    def stage(self) -> Stage | None:
        """What became of the plugin, None when it is well-behaved."""
        if self.breaks >= 2 * BREAKS:
            return "off"
        return "at-input" if self.breaks >= BREAKS else None

    def after(self, deed: Deed | None, *, broke: bool) -> Standing:
        """Give the standing after a fit. A plugin in another stage is compared anew."""
        later = replace(self, breaks=self.breaks + broke, last=deed)
        return later if later.stage == self.stage else replace(later, last=None)


def breaks_prefix(last: Deed, now: Deed, *, before: View, after: View, places: Mapping[str, int]) -> bool:
    """Tell whether a plugin did something else to the former prefix than the last time.

    `before` and `after` are the fits of `last` and `now`; `places` is id → index in the conversation. Takes time
    linear in what the plugin did.
    """

    def is_old(name: str) -> bool:
        return places.get(name, before.end) < before.end

    for name in filter(is_old, last.dropped ^ now.dropped):
        if (name in before.gone) != (name in after.gone):
            return True
    for name in filter(is_old, last.cuts.keys() | now.cuts.keys()):
        cut_then = last.cuts.get(name) or before.cuts.get(name)
        cut_now = now.cuts.get(name) or after.cuts.get(name)
        if cut_then != cut_now and name not in before.gone and name not in after.gone:
            return True
    return _old_inserts(last, is_old) != _old_inserts(now, is_old)


def _old_inserts(deed: Deed, is_old: Callable[[str], bool]) -> list[tuple[str, str]]:
    return sorted(insert for insert in deed.inserts if is_old(insert[1]))


class PrefixWatch:
    """Watches some plugins over the fits of one conversation."""

    def __init__(self, plugins: Collection[PluginKey]) -> None:
        self._standings = dict.fromkeys(plugins, Standing())
        self._before: View | None = None

    def copy(self) -> PrefixWatch:
        """Give a watch that knows the same and goes its own way from now on."""
        twin = PrefixWatch(())
        twin._standings = dict(self._standings)
        twin._before = self._before
        return twin

    @property
    def stages(self) -> dict[PluginKey, Stage]:
        """The plugins that broke the prefix too often, and what became of them."""
        return {key: standing.stage for key, standing in self._standings.items() if standing.stage is not None}

    def judge(
        self, deeds: Mapping[PluginKey, Deed], view: View, *, places: Mapping[str, int], explained: bool
    ) -> None:
        """Take in what the plugins did in a fit. `explained` says that something else changed the prefix too."""
        before, self._before = self._before, view
        for key, standing in self._standings.items():
            deed, last = deeds.get(key), standing.last
            broke = False
            if before is not None and last is not None and deed is not None and not explained:
                broke = breaks_prefix(last, deed, before=before, after=view, places=places)
            self._standings[key] = standing.after(deed, broke=broke)


def told_of(stage: Stage, hook: str) -> str:
    """Give the remark on a plugin in a stage."""
    if stage == "at-input":
        answer = "its texts go before the current input from now on"
    elif hook == SHIFT:
        answer = "the host's own shift answers in its place from now on"
    else:
        answer = "it is not called in this conversation any more"
    return f"it treated the older messages otherwise from request to request, which undoes prompt caches; {answer}"
