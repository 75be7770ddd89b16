"""The fake Messages server caches as the wire has it: at breakpoints, for a time, byte for byte."""

from __future__ import annotations

import pytest

from fakes.messages_clients import TOOL, ask_once, assistant, body_with, client_of, error_of, events_of, user
from fakes.messages_server import Json, MessagesServer, echo

SYSTEM = "You know every shelf. " * 40
MARK: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, mark: Json = None) -> Json:
    return {"type": "text", "text": words, **({"cache_control": mark} if mark else {})}


def usage(answer: Json) -> tuple[int, int, int]:
    """Give plain, written and read input."""
    used = answer["usage"]
    return used["input_tokens"], used["cache_creation_input_tokens"], used["cache_read_input_tokens"]


def test_nothing_is_cached_without_a_breakpoint() -> None:
    with MessagesServer(echo()) as server:
        for _ in range(2):
            assert usage(ask_once(server.base_url, system=SYSTEM))[1:] == (0, 0)


def test_a_prefix_is_written_once_and_then_read() -> None:
    with MessagesServer(echo()) as server:
        system = [text(SYSTEM, MARK)]
        plain, written, read = usage(ask_once(server.base_url, user("a"), system=system))
        assert (read, plain + written) == (0, server.view(1).tokens)
        assert usage(ask_once(server.base_url, user("b"), system=system)) == (plain, 0, written)
        assert (server.view(2).cached, server.view(2).written) == (written, 0)


def test_a_breakpoint_that_moves_reads_what_the_one_before_wrote() -> None:
    with MessagesServer(echo()) as server:
        first = ask_once(server.base_url, user(text("a" * 99, MARK)))
        before = [user(text("a" * 99)), assistant("yes")]
        second = ask_once(server.base_url, *before, user(text("b" * 99, MARK)))
        assert usage(second)[2] == usage(first)[1] > 0
        assert usage(second)[1] > 0
        assert server.view(2).breakpoints == ["messages.2.content.0"]


def test_an_entry_is_found_from_twenty_blocks_behind_it_and_no_further() -> None:
    def long_turn(count: int) -> list[Json]:
        return [
            user(text("start")),
            assistant("yes"),
            user(*[text(f"{at}") for at in range(count - 2)], text("x", MARK)),
        ]

    with MessagesServer(echo()) as server:
        ask_once(server.base_url, user(text("start", MARK)))
        assert usage(ask_once(server.base_url, *long_turn(20)))[2] > 0
    with MessagesServer(echo()) as server:
        ask_once(server.base_url, user(text("start", MARK)))
        assert usage(ask_once(server.base_url, *long_turn(21)))[2] == 0


@pytest.mark.parametrize(
    "other",
    [
        {"tools": [{**TOOL, "description": "another"}]},
        {"system": [text(SYSTEM + "!", MARK)]},
        {"tools": [{"input_schema": TOOL["input_schema"], "name": "lookup"}]},
        {"model": "claude-sonnet-5-5"},
    ],
    ids=["tools", "system", "order of keys", "model"],
)
def test_another_prefix_is_not_read(other: Json) -> None:
    with MessagesServer(echo()) as server:
        same = {"tools": [TOOL], "system": [text(SYSTEM, MARK)]}
        ask_once(server.base_url, **same)
        assert usage(ask_once(server.base_url, **(same | other)))[2] == 0


def test_other_settings_of_thinking_keep_the_system_prompt_and_lose_the_messages() -> None:
    with MessagesServer(echo()) as server:
        keys = {"system": [text(SYSTEM, MARK)], "cache_control": MARK}
        ask_once(server.base_url, user("a" * 99), **keys)
        head = usage(ask_once(server.base_url, user("a" * 99), thinking={"type": "adaptive"}, **keys))[2]
        whole = usage(ask_once(server.base_url, user("a" * 99), **keys))[2]
        assert 0 < head < whole


def test_entries_end_after_their_lifetime_and_live_on_when_read() -> None:
    with MessagesServer(echo()) as server:
        keys = {"system": [text(SYSTEM, HOUR), text(SYSTEM, MARK)]}
        ask_once(server.base_url, **keys)
        split = server.answer(1)["usage"]["cache_creation"]
        assert min(split.values()) > 0
        server.clock.advance(seconds=299)
        assert usage(ask_once(server.base_url, **keys))[1] == 0
        server.clock.advance(seconds=299)
        assert usage(ask_once(server.base_url, **keys))[1] == 0
        server.clock.advance(seconds=301)
        _, written, read = usage(ask_once(server.base_url, **keys))
        assert (written, read) == (split["ephemeral_5m_input_tokens"], split["ephemeral_1h_input_tokens"])
        server.clock.advance(seconds=3601)
        assert usage(ask_once(server.base_url, **keys))[2] == 0


def test_a_short_prefix_is_silently_not_cached() -> None:
    with MessagesServer(echo(), cache_minimum=1000) as server:
        for _ in range(2):
            assert usage(ask_once(server.base_url, system=[text(SYSTEM, MARK)]))[1:] == (0, 0)


def test_counting_writes_nothing_and_a_warming_does() -> None:
    with MessagesServer() as server, client_of(server.base_url) as client:
        keys: Json = {"system": [text(SYSTEM, MARK)]}
        body = body_with(user("a"), **keys)
        client.messages.count_tokens(model=body["model"], messages=body["messages"], system=body["system"])
        warmed = ask_once(server.base_url, user("a"), **keys, max_tokens=0)
        assert (warmed["content"], warmed["stop_reason"]) == ([], "max_tokens")
        assert usage(warmed)[1] > 0
        server.say("hi")
        assert usage(ask_once(server.base_url, user("a"), **keys))[2] == usage(warmed)[1]
        assert server.faults == []


def test_a_stream_tells_its_input_at_the_start_and_all_of_it_at_the_end() -> None:
    with MessagesServer(echo()) as server:
        events = events_of(server.base_url, system=[text(SYSTEM, MARK)])
        start, end = events[0]["message"]["usage"], events[-2]["usage"]
        assert start["cache_creation"]["ephemeral_5m_input_tokens"] == start["cache_creation_input_tokens"] > 0
        assert end["input_tokens"] == start["input_tokens"]
        assert end["output_tokens"] > start["output_tokens"] == 1


def test_more_than_four_breakpoints_and_lifetimes_in_the_wrong_order_are_refused() -> None:
    with MessagesServer(echo()) as server:
        five = body_with(system=[text("a", MARK)] * 4, cache_control=MARK)
        assert "A maximum of 4 blocks" in error_of(server.base_url, five)[2]
        wrong = body_with(tools=[{**TOOL, "cache_control": MARK}], system=[text("a", HOUR)])
        assert "must not come after" in error_of(server.base_url, wrong)[2]
        assert len(server.faults) == 2
