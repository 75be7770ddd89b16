"""The settings of a chat."""

from __future__ import annotations

from trimtab.plain_pydantic import no_pydantic_plugins

with no_pydantic_plugins():
    from trimtab.turns.settings_models import ChatSettings, ContextSettings, Fallback

__all__ = ["ChatSettings", "ContextSettings", "Fallback"]
