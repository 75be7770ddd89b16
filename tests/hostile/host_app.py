"""The host app that is attacked: it makes the fits that an order asks for, and writes down what came of them.

The order has `chats`, `options` and `config` of a fit, and `fits`, a list of what to do: `chat` (its number) and
`scope` for a fit, or, where it is a `conversation`, `append`: messages for the next fit of that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import trimtab
from trimtab_sdk import TrimtabError


def serve(order_file: Path, answer_file: Path) -> None:
    """Do what the order says; the answer has a result for each fit, and the listing of plugins."""
    order = json.loads(order_file.read_text())
    config = trimtab.Config(**order["config"])
    fit = _conversing(order, config) if order["conversation"] else _fitting(order, config)
    results = [_result(fit, step) for step in order["fits"]]
    answer_file.write_text(json.dumps({"results": results, "rows": _rows(config)}))


def _fitting(order: Mapping[str, Any], config: trimtab.Config) -> Callable[[Mapping[str, Any]], trimtab.Fit]:
    def fit(step: Mapping[str, Any]) -> trimtab.Fit:
        chat = order["chats"][step["chat"]]
        return trimtab.fit(chat, config=config, scope=step["scope"], **order["options"])

    return fit


def _conversing(order: Mapping[str, Any], config: trimtab.Config) -> Callable[[Mapping[str, Any]], trimtab.Fit]:
    talk = trimtab.Conversation(order["chats"][0], config=config, **order["options"])

    def fit(step: Mapping[str, Any]) -> trimtab.Fit:
        talk.append(*step["append"])
        return talk.fit()

    return fit


def _result(fit: Callable[[Mapping[str, Any]], trimtab.Fit], step: Mapping[str, Any]) -> dict[str, object]:
    try:
        done = fit(step)
    except TrimtabError as error:
        return {"code": error.code, "message": str(error), "notes": getattr(error, "__notes__", [])}
    return {"messages": done.messages, "report": done.to_dict()}


def _rows(config: trimtab.Config) -> list[dict[str, str]]:
    from trimtab.loading.discovery import installed

    return [row.to_dict() for row in installed(config=config) if row.origin != "own"]
