"""What a confined plugin is sent: everything it may see comes through whole, and nothing else leaves the host."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from trimtab.loading.plugins import SHIFT
from trimtab.loading.worker.writing import call_frame
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from trimtab_worker.frames import LENGTH, pack
from trimtab_worker.reading import read_request
from worker.confined_plugins import request_of


def frame_of(request: Request, *, meta: Collection[str] = ()) -> bytes:
    frame = call_frame(request, hook=SHIFT, services=("count",), deadline=5.0, meta=meta)
    return pack({**frame, "ticket": "t"})


def sent(request: Request, *, meta: Collection[str] = ()) -> Request:
    """The request as the worker reads it."""
    return read_request(json.loads(frame_of(request, meta=meta)[LENGTH.size :]), cost_of_insert=len)


SECRETS: dict[str, Callable[[str], Part]] = {
    "the address of an image": lambda secret: Image(url=f"https://pictures.example/{secret}"),
    "an image in its address": lambda secret: Image(url=f"data:image/png;base64,{secret}"),
    "the bytes of an image": lambda secret: Image(data=secret, media_type="image/png"),
    "the detail of an image": lambda secret: Image(url="https://pictures.example/1", detail=secret),
    "the bytes of a file": lambda secret: File(data=secret),
    "the text of a file": lambda secret: File(text=secret),
    "the name of a file": lambda secret: File(name=secret),
    "the address of a file": lambda secret: File(url=secret),
    "the provider's id of a file": lambda secret: File(file_id=secret),
    "the bytes of a sound": lambda secret: Audio(data=secret, format="wav"),
    "the provider's id of a sound": lambda secret: Audio(audio_id=secret),
    "the signature of reasoning": lambda secret: Reasoning("hm", opaque=secret),
    "what a provider made of messages": lambda secret: Compaction("openai", secret, ("a",)),
    "the data of a notice": lambda secret: Notice("moved", {"to": secret, secret: 1}),
    "what no codec knows": lambda secret: Unknown({"type": secret, "inner": [secret]}),
}


@pytest.mark.parametrize("part", SECRETS.values(), ids=SECRETS)
def test_a_secret_never_leaves_the_host(part: Callable[[str], Part]) -> None:
    secret = "x7Qk-never-to-be-seen"

    frame = frame_of(request_of([Message("a", "user", (part(secret), Text("seen")))]))

    assert b"seen" in frame
    assert secret.encode() not in frame


CONTENT = [name for name in SECRETS if any(word in name for word in ("image", "file", "sound", "codec"))]


@pytest.mark.parametrize("name", CONTENT)
def test_a_secret_inside_a_tool_result_never_leaves_the_host(name: str) -> None:
    secret = "x7Qk-never-to-be-seen"
    inside = ToolResult("c", (Text("seen"), SECRETS[name](secret)))  # type: ignore[arg-type]

    frame = frame_of(request_of([Message("a", "tool", (inside,))]))

    assert b"seen" in frame
    assert secret.encode() not in frame


def test_of_meta_only_the_granted_keys_leave_the_host() -> None:
    meta = {"mood": "glad", "owner": "x7Qk-never-to-be-seen", "x7Qk-never-to-be-seen": 1}
    request = request_of([Message("a", "user", (Text("hello"),), meta=meta)])

    assert b"x7Qk" not in frame_of(request, meta=("mood", "gone"))
    assert dict(sent(request, meta=("mood", "gone")).messages[0].meta) == {"mood": "glad"}
    assert dict(sent(request).messages[0].meta) == {}


def test_the_sizes_of_blobs_stand_at_their_paths() -> None:
    parts: tuple[Part, ...] = (
        Text("hello"),
        Image(data="12345"),
        ToolResult("c", (Text("no blob"), Image(url="https://a"), Unknown({"a": 1}))),
        File(data="12", text="345", url="6"),
        Audio(data="1234"),
        Reasoning("hm", opaque="123"),
        Compaction("openai", "1234567"),
    )
    meta = {"blobBytes": "said by somebody else"}

    (message,) = sent(request_of([Message("a", "user", parts, meta=meta)]), meta=("blobBytes",)).messages

    assert message.meta == {"blobBytes": {"1": 5, "2.1": 9, "3": 6, "4": 4, "5": 3, "6": 7}}


SEEN = (
    Message("a", "system", (Text("Be brief. ä 漢 🙂 \u202e \x00"),), source="persona"),
    Message("b", "user", (Text(""),), name="Mia", pinned=True, relevance=0.25),
    Message("c", "assistant", (Text("one"), ToolCall("1", "look", "{broken"), ToolCall("2", "look", "{}"))),
    Message("d", "tool", (ToolResult("1", "found", is_error=True),)),
    Message(
        "e",
        "tool",
        (
            ToolResult(
                "2",
                (Text("before"), Image(media_type="image/png", width=3, height=4)),
            ),
        ),
    ),
    Message("f", "assistant", (Reasoning("hm", tokens=7), ApprovalRequest("p", "3"), ToolCall("3", "open", "{}"))),
    Message("g", "user", (ApprovalResponse("p", True), Notice("moved"))),
    Message("h", "tool", (ToolResult("gone", ""),)),
    Message("i", "system", (Text("lore"),), source="lorebook", required=True, ephemeral=True, relevance=0.0),
    Message(
        "j", "user", (File(media_type="text/plain"), Audio(format="wav"), Compaction("openai", "", ("a", "b")))
    ),
    Message("k", "developer"),
)


def test_whatever_a_plugin_may_see_comes_through_whole() -> None:
    request = request_of(SEEN, words=5, deep={"list": [1, 2.5, None, True, "é"]})

    read = sent(request)

    assert list(read.messages) == list(SEEN)
    assert list(read.groups) == list(request.groups)
    assert read.tokens == request.tokens
    assert read.protected == request.protected
    assert read.settings == request.settings
    figures = ("budget", "total", "overhead", "target", "query")
    assert [getattr(read, name) for name in figures] == [getattr(request, name) for name in figures]


def test_what_no_codec_knows_is_told_to_be_there() -> None:
    (message,) = sent(request_of([Message("a", "user", (Unknown({"a": 1}), Text("hello")))])).messages

    assert message.parts == (Unknown(None), Text("hello"))


def test_groups_of_messages_far_apart_come_through_in_their_order() -> None:
    messages = [SEEN[2], SEEN[5], SEEN[3], replace(SEEN[4], id="e2"), SEEN[6], SEEN[7], SEEN[10]]
    request = request_of(messages)

    assert list(sent(request).groups) == list(request.groups)
    assert [group.orphan for group in request.groups] == [False, False, True, False]


def test_the_frame_of_a_call_holds_nothing_but_what_is_listed() -> None:
    frame = json.loads(frame_of(request_of(SEEN))[LENGTH.size :])

    assert sorted(frame) == [
        *["budget", "deadline", "groups", "hook", "ids", "kind", "messages", "overhead", "protected"],
        *["query", "services", "settings", "target", "ticket", "tokens", "total"],
    ]
