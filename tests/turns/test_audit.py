"""The audit of a generation: built from a fit, read back, made into the prompt again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import trimtab
from conversations import neutral_chats, openai_chats
from factories import Interceptor
from talks import WORDS, count, insert, talk, turn
from trimtab.audit import (
    Change,
    PartOf,
    build_audit,
    parse_audit,
    preview_dict,
    prompt_digest,
    with_call,
    with_next_step,
)
from trimtab.continuation import ContinueWithCursor
from trimtab.fitting.held import HeldConversation
from trimtab.opening import Options, open_conversation
from trimtab.store.protocol import StoredMessage, Wire
from trimtab_sdk import (
    Edit,
    Insert,
    InvalidRequestError,
    Message,
    Reasoning,
    Request,
    Services,
    Text,
    TokenBudgetExceededError,
    texts_of,
)
from trimtab_sdk.provider import Usage
from turns.audited import Audited, audited

CURSOR = "resp_cursor_68b1"
KEY = "sk-test-4b5c6d7e8f"


def with_interceptor(answer: Edit) -> dict[str, Any]:
    """Options of a fit with one interceptor that always answers the same."""

    def answering(request: Request, services: Services) -> Edit:
        return answer

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("mine", Interceptor(answering))
    return {"registry": registry, "config": trimtab.Config(interceptors=("mine",))}


def over_budget(**given: Any) -> Audited:
    chat = talk(20)
    return audited(chat, count(chat) // 2, **given)


def test_every_block_stands_in_the_order_it_is_sent_in_with_its_tokens_and_its_reason() -> None:
    done = over_budget()
    audit = done.audit
    assert [block.id for block in audit.blocks] == [one.id for one in done.held.messages]
    assert [(one.id, one.tokens, one.reason) for one in done.held.fit.kept] == [
        (block.id, block.tokens, block.reason) for block in audit.blocks
    ]
    assert audit.overhead + sum(block.tokens for block in audit.blocks) == audit.recount
    assert (audit.blocks[0].reason, audit.blocks[-1].reason) == ("system", "current-input")
    assert {block.revision for block in audit.blocks} == {1}


def test_everything_left_out_is_named_with_revision_tokens_and_reason() -> None:
    done = over_budget()
    told = [(one.id, one.role, one.tokens, one.reason, one.revision) for one in done.audit.left_out]
    assert told
    assert told == [(one.id, one.role, one.tokens, one.reason, 1) for one in done.held.fit.excluded]


def test_figures_and_tokenizer_are_those_of_the_fit() -> None:
    done = over_budget()
    fit, audit = done.held.fit, done.audit
    assert (audit.recount, audit.overhead, audit.tokens_before) == (
        fit.tokens_after,
        fit.overhead,
        fit.tokens_before,
    )
    assert (audit.budget, audit.tokenizer, audit.plugin_calls) == (fit.budget, fit.tokenizer, fit.calls)
    assert (audit.strategy, audit.format, audit.step, audit.status) == ("truncate", "neutral", 1, "prepared")


def test_a_summary_is_copied_and_names_what_it_stands_for() -> None:
    chat = talk(20)
    done = audited(chat, count(chat) // 2, strategy="summarize")
    summary = next(block for block in done.audit.blocks if block.reason == "summary")
    assert summary.change is not None
    assert (summary.change.kind, summary.change.plugin) == ("inserted", "summarize")
    gone = [one.id for one in done.audit.left_out if one.reason == "summarized"]
    assert list(summary.change.covers) == gone
    assert list(summary.change.parts or ()) == list(next(one.message.parts for one in done.held.inserted))


def test_what_left_in_the_turns_before_is_named_too() -> None:
    chat = talk(20)
    options = Options("gpt-4.1", context_limit=count(chat) // 2, reserve=0, format="neutral", target=0.5)
    opened = open_conversation(chat, options)
    held = HeldConversation(opened.setup, opened.decoded)
    gone = dict(held.fit().left)
    again = held.fit()
    assert again.fit.calls == ()
    body = build_audit(
        again,
        conversation=opened.decoded.messages,
        stored={one.id: StoredMessage(message=one, seq=1) for one in opened.decoded.messages},
        chat_id="c",
        provider="p",
        model="m",
        created_at=0.0,
    )
    assert gone
    assert {one.id: one.reason for one in parse_audit(body).left_out} == gone


def test_a_shortened_message_is_copied_as_it_is_sent_with_what_it_cost_before() -> None:
    chat = [*talk(3), turn("last", text="And now?")]
    done = audited(chat, **with_interceptor(Edit(shorten={("m0", (0,)): [(0, 12)]})))
    block = next(one for one in done.audit.blocks if one.id == "m0")
    sent = next(one for one in done.held.messages if one.id == "m0")
    (entry,) = done.held.fit.truncated
    assert block.change == Change(kind="shortened", parts=sent.parts, original_tokens=entry.original_tokens)
    assert (block.tokens, block.reason, block.revision) == (entry.tokens, entry.reason, 1)


def test_an_inserted_text_is_copied_with_its_plugin() -> None:
    done = audited(talk(4), **with_interceptor(insert("Mind the tide.")))
    (block,) = [one for one in done.audit.blocks if one.revision is None]
    assert block.change is not None
    assert (block.change.kind, block.change.plugin, block.reason) == ("inserted", "mine", "plugin")
    assert "Mind the tide." in done.text


def test_a_message_that_no_store_has_is_copied_whole_and_its_neighbours_are_not() -> None:
    chat = [turn("s", "system", "Be brief."), turn("lore", "system", "The quay floods."), turn("q", text="Why?")]
    done = audited(chat, unstored=["lore"])
    changes = {block.id: block.change for block in done.audit.blocks}
    assert changes == {"s": None, "lore": Change(kind="unstored", parts=(Text("The quay floods."),)), "q": None}
    assert "Be brief." not in done.text


def test_reasoning_that_the_wire_strips_leaves_a_reference_to_the_rest_and_no_copy() -> None:
    thought = {"type": "thinking", "thinking": "a secret thought", "signature": "c2ln"}
    answer = {"type": "text", "text": f"an answer: {WORDS}"}
    pairs = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [thought, answer]}]
    body = {"system": "Be brief.", "messages": [*pairs * 4, {"role": "user", "content": "And now?"}]}
    whole = trimtab.fit(body, model="gpt-4.1", format="anthropic-messages", context_limit=100_000, reserve=0)
    done = audited(body, whole.tokens_after - 1, format="anthropic-messages")
    stripped = [block for block in done.audit.blocks if block.change is not None]
    assert stripped
    assert [block.change for block in stripped] == [
        Change(kind="repaired", parts=(PartOf(block.id, 1),)) for block in stripped
    ]
    assert "an answer" not in done.text
    assert done.resolve().matches is True


def test_a_part_that_the_wire_moved_into_a_message_of_its_own_is_a_reference_too() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    chat: list[dict[str, Any]] = [
        turn("q", text="Look."),
        {"id": "a", "role": "assistant", "content": None, "tool_calls": calls},
    ]
    decoded = audited(chat, format="chat-completions").decoded.messages
    moved = replace(decoded[1], id="elsewhere")
    done = audited(chat, format="chat-completions")
    held = replace(
        done.held,
        messages=(decoded[0], moved),
        costs={**done.held.costs, "elsewhere": done.held.costs[decoded[0].id]},
    )
    body = build_audit(
        held,
        conversation=decoded,
        stored=done.stored,
        chat_id="c",
        provider="p",
        model="m",
        created_at=0.0,
    )
    block = parse_audit(body).blocks[1]
    assert block.change == Change(kind="unstored", parts=(PartOf(decoded[1].id, 0),))


def test_a_cut_answer_and_an_edited_message_are_marked() -> None:
    done = audited(talk(4))
    stored = {**done.stored, "m0": replace(done.stored["m0"], status="incomplete", revision=3)}
    body = build_audit(
        done.held,
        conversation=done.decoded.messages,
        stored=stored,
        chat_id="c",
        provider="p",
        model="m",
        created_at=0.0,
    )
    marked = [block for block in parse_audit(body).blocks if block.incomplete]
    assert [(block.id, block.revision) for block in marked] == [("m0", 3)]


def test_the_calls_of_a_generation_stand_one_behind_the_other_with_both_counts() -> None:
    first = over_budget(step=1).body
    second = over_budget(step=2, created_at=9.0).body
    body = with_call(first, step=1, estimated=900, usage=Usage(input_tokens=910), finish="tool-calls")
    body = with_next_step(body, second)
    body = with_call(body, step=2, estimated=950, milliseconds=12.34, error_code="PROVIDER_TIMEOUT", attempts=3)
    audit = parse_audit(body, status="failed", error_code="PROVIDER_TIMEOUT")
    assert [call.to_dict() for call in audit.calls] == [
        {
            "step": 1,
            "provider": "openai-compatible",
            "model": "gpt-4.1",
            "estimatedInputTokens": 900,
            "milliseconds": 0.0,
            "attempts": 1,
            "finish": "tool-calls",
            "usage": {"inputTokens": 910},
        },
        {
            "step": 2,
            "provider": "openai-compatible",
            "model": "gpt-4.1",
            "estimatedInputTokens": 950,
            "milliseconds": 12.3,
            "attempts": 3,
            "errorCode": "PROVIDER_TIMEOUT",
        },
    ]
    assert (audit.step, audit.created_at, audit.usage) == (2, 1_700_000_000.0, Usage(input_tokens=910))
    assert (audit.to_dict()["status"], audit.to_dict()["errorCode"]) == ("failed", "PROVIDER_TIMEOUT")
    assert first["calls"] == []


def test_a_step_of_another_generation_is_refused() -> None:
    body = over_budget().body
    with pytest.raises(ValueError, match="another generation"):
        with_next_step(body, over_budget(generation_id="gen-2").body)
    with pytest.raises(ValueError, match="not the body"):
        with_call({}, step=1, estimated=1)


def test_the_same_prompt_comes_out_again_and_is_told_to_match() -> None:
    done = over_budget()
    resolved = done.resolve()
    assert resolved.messages == tuple(done.held.encoded.messages)
    assert (resolved.missing, resolved.matches) == ((), True)


def test_a_message_that_is_gone_is_named_and_nothing_is_claimed() -> None:
    done = over_budget()
    del done.stored["s"]
    resolved = done.resolve()
    assert resolved.missing == (("s", 1),)
    assert resolved.matches is None
    assert len(resolved.messages) == len(done.held.messages) - 1


def test_a_message_that_reads_otherwise_now_does_not_match() -> None:
    done = over_budget()
    done.stored["s"] = replace(
        done.stored["s"], message=Message("s", "system", (Text("Be long."),), source="system")
    )
    assert done.resolve().matches is False


def test_without_a_digest_nothing_is_claimed() -> None:
    assert over_budget(prompt_digest="").resolve().matches is None


def test_what_stands_behind_a_cursor_is_marked_and_not_resolved() -> None:
    chat = talk(5)
    held_ids = ["m0", "m1", "m2"]
    plain = audited(chat)
    rest = [one for one in plain.held.messages if one.id not in held_ids]
    decision = ContinueWithCursor(CURSOR, len(held_ids), tuple(rest[1:]))
    done = audited(
        chat,
        continuation=decision.to_dict(),
        behind_cursor=held_ids,
        prompt_digest=prompt_digest(plain.encode(rest)),
    )
    assert [block.id for block in done.audit.blocks if block.behind_cursor] == held_ids
    assert done.audit.continuation == {"decision": "continue_with_cursor", "held": 3, "sent": ["m3", "m4"]}
    assert done.resolve().matches is True
    assert CURSOR not in done.text


def test_a_preview_has_the_facts_and_the_final_messages_and_nothing_of_a_turn() -> None:
    done = over_budget()
    shown = preview_dict(done.body, done.held.encoded)
    assert shown["messages"] == done.held.encoded.messages
    assert shown["recount"] == done.held.fit.tokens_after
    assert not shown.keys() & {"generationId", "turnId", "status", "calls", "step"}
    assert len(json.dumps(shown)) > len(json.dumps(done.held.encoded.messages))


def test_the_public_form_names_each_block_as_an_object() -> None:
    chat = [*talk(3), turn("last", text="And now?")]
    done = audited(chat, **with_interceptor(Edit(shorten={("m0", (0,)): [(0, 5)]})))
    blocks: Any = done.audit.to_dict()["blocks"]
    assert blocks[0] == {
        "id": "s",
        "revision": 1,
        "role": "system",
        "source": "system",
        "tokens": blocks[0]["tokens"],
        "reason": "system",
    }
    assert blocks[1]["change"] == "shortened"
    assert blocks[1]["parts"][0]["kind"] == "text"
    assert blocks[1]["originalTokens"] > blocks[1]["tokens"]


def test_of_a_decision_only_the_known_words_are_taken_over() -> None:
    done = audited(talk(2), continuation={"decision": "start_replay", "cause": "stateless", "cursor": CURSOR})
    assert done.audit.continuation == {"decision": "start_replay", "cause": "stateless"}


def test_what_a_plugin_printed_is_not_in_it() -> None:
    done = audited(talk(2))
    call = trimtab.PluginCall("p", "d", "1", "trimtab_intercept", confined=True, output="printed words")
    note = trimtab.Diagnostic("plugin-output", "printed words", plugin="p")
    held = replace(done.held, fit=replace(done.held.fit, calls=(call,), diagnostics=(note,)))
    body = build_audit(
        held,
        conversation=done.decoded.messages,
        stored=done.stored,
        chat_id="c",
        provider="p",
        model="m",
        created_at=0.0,
    )
    assert "printed words" not in json.dumps(body)
    assert parse_audit(body).plugin_calls == (replace(call, output=""),)


def canaries(chat: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each message that has a text of its own a word that nobody else has."""
    return [
        {**one, "content": f"canary-{at}-word {one['content']}"} if one.get("content") else one
        for at, one in enumerate(chat)
    ]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.tuples(st.just("neutral"), neutral_chats(max_size=16)),
        st.tuples(st.just("chat-completions"), openai_chats(max_size=16)),
    ),
    st.integers(60, 900),
    st.integers(0, 30),
)
def test_no_text_of_a_stored_message_is_in_an_audit_unless_it_was_changed(
    given_chat: tuple[str, list[dict[str, Any]]], limit: int, cut: int
) -> None:
    form, chat = given_chat
    last = {"role": "user", "content": "And now?"}
    edit = Edit(shorten={("m1", (0,)): [(0, cut)]}, insert=[Insert("Mind the tide.", "before_input")])
    try:
        done = audited([*canaries(chat), last], limit, format=form, **with_interceptor(edit))
    except (InvalidRequestError, TokenBudgetExceededError):
        return
    event("over budget" if done.held.over else "within budget")
    sent = {one.id: dict(texts_of(one)) for one in done.held.messages}
    said = done.text + json.dumps(done.audit.to_dict())
    for name, one in done.stored.items():
        for path, text in texts_of(one.message):
            changed = name in sent and sent[name].get(path) != text
            assert changed or not text.startswith("canary-") or text.split()[0] not in said
    inserted = {one.message.id for one in done.held.inserted}
    assert {block.id for block in done.audit.blocks if block.revision is None} == inserted
    assert done.resolve().matches is True


def test_neither_cursor_nor_key_nor_wire_form_nor_provider_state_has_a_way_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chat = talk(20)
    plain = audited(chat, count(chat) // 2)
    poisoned: dict[str, StoredMessage] = {
        name: replace(
            one,
            wire=Wire("openai", "neutral", {"id": CURSOR}, CURSOR),
            provider_state={"cursor": CURSOR, "key": KEY},
        )
        for name, one in plain.stored.items()
    }
    body = build_audit(
        plain.held,
        conversation=plain.decoded.messages,
        stored=poisoned,
        chat_id="c",
        provider="p",
        model="m",
        continuation=ContinueWithCursor(CURSOR, 1, ()).to_dict(),
        created_at=0.0,
    )
    said = json.dumps(body) + json.dumps(parse_audit(body).to_dict()) + repr(parse_audit(body))
    assert CURSOR not in said
    assert KEY not in said


def test_a_stored_message_that_the_driver_recalls_without_its_reasoning_is_referred_to() -> None:
    chat = [turn("q", text="Why?"), turn("a", "assistant", "Because."), turn("n", text="And?")]
    whole = Message("a", "assistant", (Reasoning("hm", "c2ln"), Text("Because.")), source="history")
    done = audited(chat, changed=[whole])
    assert done.audit.blocks[1].change == Change(kind="repaired", parts=(PartOf("a", 1),))
    assert "c2ln" not in done.text
    assert done.resolve().matches is True
