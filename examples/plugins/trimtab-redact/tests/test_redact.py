"""The contract twice, as most hosts run it and as one that lets it cut what must stay, and what it promises."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
import trimtab_redact

import trimtab
from trimtab.conformance import InterceptorContract

SECRETS = {
    "a model's key": ("Use sk-proj-4fT8xQ2mZr9LkV7nB3wYc6HdJ1sPa5Ge now.", "Use sk-proj-[…] now."),
    "a forge's token": ("It is ghp_R4nd0mLettersAndD1gitsForTests12345678.", "It is ghp_[…]."),
    "a cloud key": ("AKIAQ3EGRT7XYW5PLMN2 is old", "AKIA[…] is old"),
    "a web token": ("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.dBjftJeZ4CVP end", "Bearer eyJ[…] end"),
    "a password": ("log in with password: Tr0ub4dor&3", "log in with password: […]"),
    "a named key in JSON": ('{"api_key": "0123456789abcdef", "n": 1}', '{"api_key": "[…]", "n": 1}'),
    "an address with a password": ("see postgres://ann:hunter2hunter2@db/x", "see postgres://ann:[…]@db/x"),
    "a private key": (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----[…]-----END PRIVATE KEY-----",
    ),
    "a private key that is cut off": ("-----BEGIN PRIVATE KEY-----\nMIIEvQ", "-----BEGIN PRIVATE KEY-----[…]"),
    "two of them": ("token=aaaaaaaa, token=bbbbbbbb", "token=[…], token=[…]"),
    "one between emoji": ("🔑 password=Tr0ub4dor 🔑", "🔑 password=[…] 🔑"),
}
INTERCEPTOR_SECONDS = 5.0
HARMLESS = (
    "The password is not written down.",
    "A token is a piece of a word: about four letters.",
    "sk-short",
    "See https://example.org/eyJ and mail ann@example.org",
)


class TestRedact(InterceptorContract):
    shortens = True

    @pytest.fixture
    def subject(self) -> object:
        return trimtab_redact


class TestRedactWhatMustStay(InterceptorContract):
    redacts = True
    settings: Mapping[str, object] = {"protected": True}

    @pytest.fixture
    def subject(self) -> object:
        return trimtab_redact


def sent(text: str, *, role: str = "user", protected: bool = False, allowed: bool = False) -> trimtab.Fit:
    """Fit a chat of which the first message holds the text."""
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("redact", trimtab_redact)
    config = trimtab.Config(
        interceptors=[{"name": "redact", "settings": {"protected": protected}}],
        may_redact_protected=["redact"] if allowed else [],
    )
    talk = [
        {"role": role, "content": text},
        {"role": "assistant", "content": "Understood."},
        {"role": "user", "content": "Go on."},
    ]
    return trimtab.fit(talk, model="gpt-4o", registry=registry, config=config)


def first_text(result: trimtab.Fit) -> object:
    (first, *_) = result.messages
    assert isinstance(first, dict)
    return first["content"]


@pytest.mark.parametrize(("text", "left"), SECRETS.values(), ids=SECRETS)
def test_a_secret_is_cut_and_its_kind_stays(text: str, left: str) -> None:
    assert first_text(sent(text)) == left


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_none_stays(text: str) -> None:
    assert first_text(sent(text)) == text


@pytest.mark.parametrize("left", [left for _, left in SECRETS.values()], ids=SECRETS)
def test_what_was_cut_before_stays_as_it_is(left: str) -> None:
    assert first_text(sent(left)) == left


def test_what_must_stay_is_left_alone_and_the_report_says_so() -> None:
    result = sent("The key is sk-proj-4fT8xQ2mZr9LkV7nB3wYc6HdJ1sPa5Ge.", role="system")
    assert "4fT8xQ2" in str(first_text(result))
    assert ["1 protected messages keep" in one.message for one in result.diagnostics] == [True]


def test_what_must_stay_is_cut_where_the_host_allows_it() -> None:
    text = "The key is sk-proj-4fT8xQ2mZr9LkV7nB3wYc6HdJ1sPa5Ge."
    result = sent(text, role="system", protected=True, allowed=True)
    assert first_text(result) == "The key is sk-proj-[…]."


def test_without_the_hosts_leave_the_setting_costs_the_whole_edit() -> None:
    text = "The key is sk-proj-4fT8xQ2mZr9LkV7nB3wYc6HdJ1sPa5Ge."
    result = sent(text, role="system", protected=True)
    assert first_text(result) == text
    assert [one.code for one in result.diagnostics] == ["PROTECTED_CONTEXT_REMOVED"]


@pytest.mark.parametrize(
    "piece", ["a", "sk-", "eyJ", "eyJ-", "eyJaaaaaaaa.", "token=", "://a:", "-----BEGIN PRIVATE KEY-----"]
)
def test_a_million_letters_of_any_kind_take_no_longer_than_a_host_waits(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.perf_counter()
    list(trimtab_redact._found(text))
    list(trimtab_redact._private_keys(text))
    assert time.perf_counter() - began < INTERCEPTOR_SECONDS
