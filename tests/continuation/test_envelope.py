"""Reading what a chat has stored."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuation.turns import JSON, stored
from trimtab.continuation import (
    DURABLE_MODES,
    ContinuationEnvelope,
    Malformed,
    is_durable,
    parse_envelope,
    serialize_envelope,
)
from trimtab_sdk import ContinuationMode

HASH = "sha256-1:" + "0f" * 32
GOOD: dict[str, Any] = {
    "schemaVersion": 1,
    "provider": "openai",
    "mode": "responses",
    "modelName": "gpt-6-astra",
    "systemPromptHash": HASH,
    "toolsetHash": HASH,
    "cursor": "resp_1",
    "historyHash": HASH,
}
HASHES = st.binary(min_size=32, max_size=32).map(lambda data: f"sha256-1:{data.hex()}")
ENVELOPES = st.builds(
    ContinuationEnvelope,
    provider=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True),
    mode=st.sampled_from(sorted(DURABLE_MODES)),
    model_name=st.text(min_size=1, max_size=256).filter(lambda name: name.isprintable() and bool(name.strip())),
    system_prompt_hash=HASHES,
    toolset_hash=HASHES,
    cursor=st.from_regex(r"[\x21-\x7e]{1,4096}", fullmatch=True),
    history_hash=HASHES,
)
NEAR = st.fixed_dictionaries({key: st.just(value) | JSON for key, value in GOOD.items()})


def read(value: object) -> ContinuationEnvelope:
    envelope = parse_envelope(value)
    assert isinstance(envelope, ContinuationEnvelope), envelope
    return envelope


def test_an_envelope_is_read_from_text_and_from_a_value() -> None:
    assert read(GOOD) == read(json.dumps(GOOD))
    assert read(GOOD).to_dict() == GOOD


def test_the_stored_text_is_always_the_same() -> None:
    text = serialize_envelope(read(dict(reversed(GOOD.items()))))
    assert text == json.dumps(GOOD, separators=(",", ":"))


@pytest.mark.parametrize("nothing", [None, "null", " null "])
def test_null_is_nothing_rather_than_a_fault(nothing: object) -> None:
    assert parse_envelope(nothing) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schemaVersion", 2),
        ("schemaVersion", 0),
        ("schemaVersion", True),
        ("schemaVersion", 1.0),
        ("schemaVersion", "1"),
        ("provider", "OpenAI"),
        ("provider", ""),
        ("provider", "a" * 65),
        ("provider", None),
        ("mode", "stateless-loop"),
        ("mode", "batches"),
        ("mode", ["responses"]),
        ("modelName", ""),
        ("modelName", "  "),
        ("modelName", "two\nlines"),
        ("modelName", "half \ud83d"),
        ("modelName", "m" * 257),
        ("modelName", 4),
        ("systemPromptHash", HASH.upper()),
        ("toolsetHash", "sha256-2:" + "0f" * 32),
        ("historyHash", HASH + "0"),
        ("historyHash", HASH + "\n"),
        ("cursor", ""),
        ("cursor", None),
        ("cursor", {"id": "resp_1"}),
        ("cursor", "resp 1"),
        ("cursor", "resp_1\n"),
        ("cursor", "r" * 4097),
        ("cursor", "réponse"),
    ],
)
def test_a_wrong_value_is_named_by_its_key(key: str, value: object) -> None:
    assert parse_envelope(GOOD | {key: value}) == Malformed(key)


@pytest.mark.parametrize("key", GOOD)
def test_a_missing_key_makes_it_malformed(key: str) -> None:
    fault = parse_envelope({name: value for name, value in GOOD.items() if name != key})
    assert fault == Malformed("schemaVersion" if key == "schemaVersion" else "keys")


@pytest.mark.parametrize("extra", ["loopMessages", "providerState", "createdAt", "history_hash"])
def test_an_unknown_key_makes_it_malformed(extra: str) -> None:
    assert parse_envelope(GOOD | {extra: []}) == Malformed("keys")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not-json"),
        ("{", "not-json"),
        ("resp_1", "not-json"),
        ("9" * 5000, "not-json"),
        ("[" * 16_000, "not-json"),
        (json.dumps(GOOD)[:-1] + ', "cursor": "resp_2"}', "not-json"),
        (json.dumps(GOOD) + " " * 16_384, "too-long"),
        ("[]", "not-an-object"),
        ('"resp_1"', "not-an-object"),
        ("{}", "schemaVersion"),
    ],
)
def test_text_that_is_no_envelope_says_why(text: str, why: str) -> None:
    assert parse_envelope(text) == Malformed(why)


@pytest.mark.parametrize("value", [b"{}", 1, [GOOD], ("cursor",), object()])
def test_another_value_than_an_object_is_malformed(value: object) -> None:
    assert parse_envelope(value) == Malformed("not-an-object")


def test_the_longest_envelope_can_be_stored_and_read() -> None:
    longest = GOOD | {"provider": "p" * 64, "modelName": "\N{GRINNING FACE}" * 256, "cursor": "\\" * 4096}
    assert read(serialize_envelope(read(longest))).to_dict() == longest


def test_an_envelope_keeps_its_cursor_out_of_its_repr() -> None:
    assert "resp_1" not in repr(read(GOOD))


def test_every_mode_but_the_stateless_one_keeps_the_conversation() -> None:
    assert {*get_args(ContinuationMode)} == DURABLE_MODES | {"stateless-loop"}
    assert [mode for mode in get_args(ContinuationMode) if not is_durable(mode)] == ["stateless-loop"]


def test_an_envelope_has_no_field_that_could_hold_the_state_of_a_loop() -> None:
    assert {field.name: field.type for field in fields(ContinuationEnvelope)} == {
        "provider": "str",
        "mode": "DurableMode",
        "model_name": "str",
        "system_prompt_hash": "str",
        "toolset_hash": "str",
        "cursor": "str",
        "history_hash": "str",
        "schema_version": "Literal[1]",
    }


def test_what_a_completed_turn_stores_can_be_read() -> None:
    assert read(stored()).cursor == "resp_1"


@given(ENVELOPES)
def test_what_is_serialized_is_read_back_as_it_was(envelope: ContinuationEnvelope) -> None:
    text = serialize_envelope(envelope)
    assert text.isascii()
    assert read(text) == envelope
    assert serialize_envelope(read(text)) == text


@given(JSON | NEAR | st.dictionaries(st.sampled_from([*GOOD, "other"]), JSON))
def test_reading_never_raises_whatever_json_is_stored(value: object) -> None:
    from_value, from_text = parse_envelope(value), parse_envelope(json.dumps(value))
    if not isinstance(value, str):
        assert from_value == from_text
    assert from_text is None or isinstance(from_text, Malformed) or from_text.to_dict() == value


@given(st.text())
def test_reading_never_raises_whatever_text_is_stored(text: str) -> None:
    parsed = parse_envelope(text)
    assert parsed is None or isinstance(parsed, Malformed)
