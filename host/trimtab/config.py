"""What the host app decides: whom to trust, which interceptors run, what happens when a plugin cheats."""

from __future__ import annotations

from trimtab.plain_pydantic import no_pydantic_plugins

with no_pydantic_plugins():
    from trimtab.config_models import Config, Endpoint, Grant, Interceptor, Limits
    from trimtab.config_server import Gateway, GatewayModel, Server

__all__ = ["Config", "Endpoint", "Gateway", "GatewayModel", "Grant", "Interceptor", "Limits", "Server"]
