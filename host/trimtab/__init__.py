"""Trimtab fits a conversation into a model's token budget.

    from trimtab import fit

    result = fit(messages, model="gpt-4o")
    result.messages     # the same conversation, in the same format, within the budget
    result.excluded     # what left, and why

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.api import afit, fit
    from trimtab.config import Config, Endpoint, Grant, Interceptor, Limits
    from trimtab.config_files import load_config
    from trimtab.conversation import Conversation
    from trimtab.conversion import Conversion, convert
    from trimtab.host import Host
    from trimtab.loading.registry import ContextStrategyRegistry
    from trimtab.report import Budget, Diagnostic, Entry, Fit, PluginCall, TokenizerInfo
    from trimtab.turns.tools import Tool, ToolContext, tool

_HOMES = {
    "Budget": "trimtab.report",
    "Config": "trimtab.config",
    "Conversation": "trimtab.conversation",
    "ContextStrategyRegistry": "trimtab.loading.registry",
    "Conversion": "trimtab.conversion",
    "Diagnostic": "trimtab.report",
    "Endpoint": "trimtab.config",
    "Entry": "trimtab.report",
    "Fit": "trimtab.report",
    "Grant": "trimtab.config",
    "Interceptor": "trimtab.config",
    "Limits": "trimtab.config",
    "PluginCall": "trimtab.report",
    "TokenizerInfo": "trimtab.report",
    "afit": "trimtab.api",
    "convert": "trimtab.conversion",
    "fit": "trimtab.api",
    "load_config": "trimtab.config_files",
    "Host": "trimtab.host",
    "Tool": "trimtab.turns.tools",
    "ToolContext": "trimtab.turns.tools",
    "tool": "trimtab.turns.tools",
}

__all__ = [
    "Budget",
    "Config",
    "ContextStrategyRegistry",
    "Conversation",
    "Conversion",
    "Diagnostic",
    "Endpoint",
    "Entry",
    "Fit",
    "Grant",
    "Host",
    "Interceptor",
    "Limits",
    "PluginCall",
    "TokenizerInfo",
    "Tool",
    "ToolContext",
    "afit",
    "convert",
    "fit",
    "load_config",
    "tool",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
