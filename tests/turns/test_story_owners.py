"""What belongs to one owner does not exist for another one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from trimtab.host import Host
from trimtab.store.protocol import Remove
from trimtab_sdk.errors import InvalidRequestError, NotFoundError
from turns.turn_helpers import ASK_USER, Stage, listen, on_both_stores, stock

pytestmark = pytest.mark.anyio

Ask = Callable[[Host, str, str, str, str], Awaitable[object]]
"""Asks a host for a chat, a message and a turn, in the name of somebody."""

EVERYTHING: dict[str, Ask] = {
    "chat": lambda host, chat, message, turn, owner: host.chat(chat, owner=owner),
    "settings": lambda host, chat, message, turn, owner: host.settings(chat, owner=owner),
    "update_chat": lambda host, chat, message, turn, owner: host.update_chat(chat, owner=owner, title="mine"),
    "update_chat settings": lambda host, chat, message, turn, owner: host.update_chat(
        chat, owner=owner, model="m"
    ),
    "delete_chat": lambda host, chat, message, turn, owner: host.delete_chat(chat, owner=owner),
    "messages": lambda host, chat, message, turn, owner: host.messages(chat, owner=owner),
    "full_text": lambda host, chat, message, turn, owner: host.full_text(chat, message, owner=owner),
    "edit": lambda host, chat, message, turn, owner: host.edit(chat, message, "mine", owner=owner),
    "set_system": lambda host, chat, message, turn, owner: host.set_system(chat, "mine", owner=owner),
    "pin": lambda host, chat, message, turn, owner: host.pin(chat, message, owner=owner),
    "exclude": lambda host, chat, message, turn, owner: host.exclude(chat, message, owner=owner),
    "remove": lambda host, chat, message, turn, owner: host.remove(chat, message, owner=owner),
    "branch": lambda host, chat, message, turn, owner: host.branch(chat, message, owner=owner),
    "turn": lambda host, chat, message, turn, owner: listen(host.turn(chat, "Hello?", owner=owner)),
    "retry": lambda host, chat, message, turn, owner: listen(host.retry(chat, owner=owner)),
    "resume": lambda host, chat, message, turn, owner: listen(host.resume(turn, {}, owner=owner)),
    "start_turn": lambda host, chat, message, turn, owner: host.start_turn(chat, "Hello?", owner=owner),
    "start_turn keyed": lambda host, chat, message, turn, owner: host.start_turn(
        chat, "Hello?", owner=owner, key="k"
    ),
    "start_retry": lambda host, chat, message, turn, owner: host.start_retry(chat, owner=owner),
    "start_resume": lambda host, chat, message, turn, owner: host.start_resume(turn, {}, owner=owner),
    "follow": lambda host, chat, message, turn, owner: host.follow(turn, owner=owner).batch(),
    "turn_so_far": lambda host, chat, message, turn, owner: host.turn_so_far(turn, owner=owner),
    "change": lambda host, chat, message, turn, owner: host.change(chat, Remove(message), owner=owner),
    "cancel": lambda host, chat, message, turn, owner: host.cancel(turn, owner=owner),
    "last_turn": lambda host, chat, message, turn, owner: host.last_turn(chat, owner=owner),
    "get_turn": lambda host, chat, message, turn, owner: host.get_turn(turn, owner=owner),
    "events": lambda host, chat, message, turn, owner: host.events(turn, owner=owner),
    "count_tokens": lambda host, chat, message, turn, owner: host.count_tokens(chat, owner=owner),
    "preview": lambda host, chat, message, turn, owner: host.preview(chat, "Hello?", owner=owner),
    "audit": lambda host, chat, message, turn, owner: host.audit(chat, owner=owner),
    "resolve_audit": lambda host, chat, message, turn, owner: host.resolve_audit(chat, owner=owner),
}
OF_NO_CHAT = {
    *("open", "close", "recover", "create_chat", "chats", "forget", "store", "usage_ratios", "tool_names"),
    *("config", "registry", "target", "hands_out_key", "generate", "preview_messages"),
    *("running_turns", "readers", "drain", "is_stopping"),
}


def test_every_method_of_a_host_is_asked_here() -> None:
    methods = {name for name in vars(Host) if not name.startswith("_")}

    assert methods - OF_NO_CHAT == {name.partition(" ")[0] for name in EVERYTHING}


@on_both_stores
async def test_another_owner_finds_nothing_and_changes_nothing(stage: Stage) -> None:
    talk = await stage.talk(stock, system="Be brief.")
    stage.server.call(("ask_user", {"question": "Which?"}))
    told = await talk.say("How many?", tools=[ASK_USER])
    message = (await talk.messages())[1].message.id
    before = (await talk.chat(), await talk.messages(), await talk.last_turn())

    for name, ask in EVERYTHING.items():
        try:
            found = await ask(talk.host, talk.chat_id, message, told.turn_id, "ben")
        except NotFoundError as error:
            assert "ann" not in str(error), name
        else:
            raise AssertionError(f"{name} found {found!r}")

    assert (await talk.chat(), await talk.messages(), await talk.last_turn()) == before
    assert await talk.host.chats(owner="ben") == []
    assert [chat.id for chat in await talk.host.chats(owner="ann")] == [talk.chat_id]
    stage.server.say("Seven.")
    await talk.resume(told.turn_id, {told.paused.pending[0].call_id: "Kettles."})


async def test_a_message_of_another_chat_is_not_found(stage: Stage) -> None:
    talk = await stage.talk(system="Be brief.")
    other = await stage.talk(host=talk.host, system="Be kind.")
    foreign = (await other.messages())[0].message.id

    for change in (
        talk.host.edit(talk.chat_id, foreign, "mine", owner="ann"),
        talk.host.pin(talk.chat_id, foreign, owner="ann"),
        talk.host.exclude(talk.chat_id, foreign, owner="ann"),
        talk.host.remove(talk.chat_id, foreign, owner="ann"),
        talk.host.branch(talk.chat_id, foreign, owner="ann"),
    ):
        with pytest.raises(NotFoundError):
            await change

    assert await other.texts() == ["system: Be kind."]


@pytest.mark.parametrize("owner", ["", "a\nb", "x" * 257, None, 7])
async def test_an_owner_must_be_a_printable_text(stage: Stage, owner: object) -> None:
    host = await stage.host()

    with pytest.raises(InvalidRequestError):
        await host.create_chat(owner=owner, provider="local", model="gpt-4o")  # type: ignore[arg-type]
