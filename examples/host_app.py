"""The smallest host app: fit before every call, keep the pinned promise, show what left.

python examples/host_app.py
"""

from __future__ import annotations

import json
from pathlib import Path

from trimtab import Config, ContextStrategyRegistry, fit
from trimtab_sdk import BEFORE_INPUT, Edit, Insert, Request, Services, hookimpl


class HouseStyle:
    """An interceptor of the app's own: one line for the model, in front of the current input."""

    @hookimpl
    def trimtab_intercept(self, request: Request, services: Services) -> Edit:
        return Edit(insert=[Insert("Answer in at most three sentences.", BEFORE_INPUT)])


def main() -> None:
    messages = json.loads(Path(__file__).with_name("support-chat.json").read_text())
    registry = ContextStrategyRegistry()
    registry.register_interceptor("house-style", HouseStyle())
    result = fit(
        messages,
        model="gpt-4o",
        context_limit=8_000,
        pins=["promise"],
        registry=registry,
        config=Config(interceptors=["house-style"]),
    )
    print(f"{result.tokens_before:,} → {result.tokens_after:,} of {result.budget.available:,} tokens")
    print(f"{len(result.kept)} kept, {len(result.excluded)} left out, {len(result.inserted)} inserted")
    for entry in result.excluded[:3]:
        print(f"  left out: message {entry.index} ({entry.role}, {entry.tokens} tokens): {entry.reason}")
    # Send result.messages to the provider.


if __name__ == "__main__":
    main()
