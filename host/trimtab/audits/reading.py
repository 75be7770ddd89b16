"""From the stored body of an audit back to its values. What is stored is outside data and is read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar, cast, get_args

from trimtab.audits.building import SCHEMA_VERSION
from trimtab.audits.columns import from_places
from trimtab.audits.json_object import JsonObject
from trimtab.audits.model import (
    AuditStatus,
    Block,
    CallRecord,
    Change,
    ChangeKind,
    LeftOut,
    PartOf,
    PromptContextAudit,
)
from trimtab.audits.parts import part_from
from trimtab.report import Budget, Diagnostic, Exactness, PluginCall, TokenizerInfo
from trimtab_sdk.errors import StoreUnavailableError
from trimtab_sdk.messages import Part
from trimtab_sdk.provider import Usage

_Value = TypeVar("_Value")
_IMAGES = ("exact", "approximate", "none")


def parse_audit(value: object, *, status: AuditStatus = "prepared", error_code: str = "") -> PromptContextAudit:
    """Read the body of a stored audit. `status` and `error_code` stand beside it in the store.

    Raises StoreUnavailableError when it is none, or is of another version; the text names the place.
    """
    try:
        return _audit(JsonObject(value, "audit"), status, error_code)
    except ValueError as error:
        raise StoreUnavailableError(
            f"the stored audit cannot be read ({error}); the next turn of the chat writes a new one"
        ) from error


def _audit(body: JsonObject, status: AuditStatus, error_code: str) -> PromptContextAudit:
    if body.figure("schemaVersion") != SCHEMA_VERSION:
        raise ValueError("audit.schemaVersion is another one than this program writes")
    left = _left(body.inner("left"))
    return PromptContextAudit(
        generation_id=body.text("generationId"),
        chat_id=body.text("chatId"),
        turn_id=body.text("turnId"),
        provider=body.text("provider"),
        model=body.text("model"),
        strategy=body.text("strategy"),
        format=body.text("format"),
        step=body.figure("step"),
        created_at=body.number("createdAt"),
        continuation=body.inner("continuation").whole(),
        tools=tuple(body.texts("tools")),
        request_digest=body.text("requestDigest"),
        prompt_digest=body.text("promptDigest"),
        tokenizer=_tokenizer(body.inner("tokenizer")),
        budget=_budget(body.inner("budget")),
        tokens_before=body.figure("tokensBefore"),
        recount=body.figure("recount"),
        overhead=body.figure("overhead"),
        plugin_calls=tuple(body.rows("pluginCalls", _plugin_call)),
        diagnostics=tuple(body.rows("diagnostics", _diagnostic)),
        calls=tuple(body.rows("calls", _call)),
        blocks=_blocks(body.inner("blocks"), body.inner("changes"), [one.id for one in left]),
        left_out=left,
        status=status,
        error_code=error_code,
    )


def _left(left: JsonObject) -> tuple[LeftOut, ...]:
    ids = _unique(left, "ids")
    size = len(ids)
    rows = zip(
        ids,
        _sized(left.texts("roles"), size, left.path),
        _sized(left.figures("tokens"), size, left.path),
        left.run_of_texts("reasons", size),
        left.run_of_revisions("revisions", size),
        strict=True,
    )
    return tuple(
        LeftOut(id=name, role=role, tokens=tokens, reason=reason, revision=revision)
        for name, role, tokens, reason, revision in rows
    )


def _blocks(blocks: JsonObject, changes: JsonObject, left: list[str]) -> tuple[Block, ...]:
    ids = _unique(blocks, "ids")
    size = len(ids)
    revisions = blocks.run_of_revisions("revisions", size)
    stored = {name for name, revision in zip(ids, revisions, strict=True) if revision is not None}
    changed = {name: _change(name, changes.inner(name), left, stored) for name in changes.names}
    _check_changes(ids, stored, changed)
    flags = [blocks.places(key, size) for key in ("approximate", "incomplete", "ephemeral", "behindCursor")]
    rows = zip(
        ids,
        _sized(blocks.texts("roles"), size, blocks.path),
        blocks.run_of_texts("sources", size),
        _sized(blocks.figures("tokens"), size, blocks.path),
        blocks.run_of_texts("reasons", size),
        revisions,
        strict=True,
    )
    return tuple(
        Block(
            id=name,
            role=role,
            source=source,
            tokens=tokens,
            reason=reason,
            revision=revision,
            approximate=at in flags[0],
            incomplete=at in flags[1],
            ephemeral=at in flags[2],
            behind_cursor=at in flags[3],
            change=changed.get(name),
        )
        for at, (name, role, source, tokens, reason, revision) in enumerate(rows)
    )


def _check_changes(ids: list[str], stored: set[str], changed: Mapping[str, Change]) -> None:
    if changed.keys() - set(ids):
        raise ValueError("audit.changes speaks of a block that is not there")
    whole = {name for name, change in changed.items() if change.parts is not None}
    if set(ids) - stored - whole:
        raise ValueError("audit.changes lacks a block that no store has")


def _change(name: str, change: JsonObject, left: list[str], stored: set[str]) -> Change:
    kind = change.text("kind")
    if kind not in get_args(ChangeKind):
        raise ValueError(f"{change.path}.kind is not known")
    parts = tuple(change.rows("parts", lambda one: _part(name, one, stored))) if "parts" in change else None
    said = change.get("name", None)
    if said is not None and not isinstance(said, str):
        raise ValueError(f"{change.path}.name is no text")
    return Change(
        kind=cast("ChangeKind", kind),
        parts=parts,
        name=said,
        plugin=change.text("plugin", ""),
        covers=tuple(from_places(change.get("covers", []), left)),
        original_tokens=change.figure_if_any("originalTokens"),
    )


def _part(name: str, value: object, stored: set[str]) -> Part | PartOf:
    if type(value) is int and value >= 0 and name in stored:
        return PartOf(name, value)
    if isinstance(value, list) and [type(one) for one in value] == [str, int] and value[1] >= 0:
        return PartOf(value[0], value[1])
    return part_from(value)


def _unique(columns: JsonObject, key: str) -> list[str]:
    ids = columns.texts(key)
    if len(set(ids)) != len(ids):
        raise ValueError(f"{columns.path}.{key} names a message twice")
    return ids


def _sized(values: list[_Value], size: int, path: str) -> list[_Value]:
    if len(values) != size:
        raise ValueError(f"{path} has columns of different lengths")
    return values


def _tokenizer(value: JsonObject) -> TokenizerInfo:
    return TokenizerInfo(
        profile=value.text("profile"),
        version=value.text("version"),
        approximate=value.flag("approximate"),
        framing=cast("Exactness", _one_of(value, "framing", get_args(Exactness))),
        images=cast('Literal["exact", "approximate", "none"]', _one_of(value, "images", _IMAGES)),
    )


def _one_of(value: JsonObject, key: str, words: tuple[str, ...]) -> str:
    word = value.text(key)
    if word not in words:
        raise ValueError(f"{value.path}.{key} is not one of {', '.join(words)}")
    return word


def _budget(value: JsonObject) -> Budget:
    return Budget(
        available=value.figure("available"),
        reserve=value.figure("reserve"),
        context_limit=value.figure_if_any("contextLimit"),
        max_input=value.figure_if_any("maxInput"),
        margin=value.figure("margin"),
    )


def _plugin_call(value: object) -> PluginCall:
    call = JsonObject(value, "audit.pluginCalls[]")
    return PluginCall(
        plugin=call.text("plugin"),
        distribution=call.text("distribution", ""),
        version=call.text("version", ""),
        hook=call.text("hook"),
        built_in=call.flag("builtIn"),
        confined=call.flag("confined"),
        seconds=call.number("milliseconds") / 1000,
        dropped=call.figure("dropped"),
        shortened=call.figure("shortened"),
        inserted=call.figure("inserted"),
        insert_tokens=call.figure("insertTokens"),
        restored=tuple(call.texts("restored", [])),
        rejected=call.text("rejected", ""),
        asked=call.figure("asked", 0),
    )


def _diagnostic(value: object) -> Diagnostic:
    diagnostic = JsonObject(value, "audit.diagnostics[]")
    return Diagnostic(
        code=diagnostic.text("code"),
        message=diagnostic.text("message"),
        ids=tuple(diagnostic.texts("ids", [])),
        plugin=diagnostic.text("plugin", ""),
        distribution=diagnostic.text("distribution", ""),
        version=diagnostic.text("version", ""),
    )


def _call(value: object) -> CallRecord:
    call = JsonObject(value, "audit.calls[]")
    return CallRecord(
        step=call.figure("step"),
        provider=call.text("provider"),
        model=call.text("model"),
        estimated_tokens=call.figure("estimatedInputTokens"),
        finish=call.text("finish", ""),
        usage=_usage(call.inner("usage")) if "usage" in call else None,
        milliseconds=call.number("milliseconds"),
        error_code=call.text("errorCode", ""),
        attempts=call.figure("attempts"),
    )


def _usage(value: JsonObject) -> Usage:
    return Usage(
        input_tokens=value.figure_if_any("inputTokens"),
        output_tokens=value.figure_if_any("outputTokens"),
        cached_tokens=value.figure_if_any("cachedTokens"),
        cache_write_tokens=value.figure_if_any("cacheWriteTokens"),
        reasoning_tokens=value.figure_if_any("reasoningTokens"),
    )
