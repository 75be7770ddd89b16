"""The HTTP host: API v2, turns as server-sent events, and a gateway for clients of OpenAI.

    uvicorn.run(create_app(Host("chats.db", config), config.server))

It needs the extra `http`. Nothing else in Trimtab imports a web framework.
"""

from __future__ import annotations

from trimtab.config import Server
from trimtab.http.app import create_app

__all__ = ["Server", "create_app"]
