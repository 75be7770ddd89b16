"""What holds for chats on every back end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from store.stories import begin, end, ids, new_chat, nobody_is_dead, said, step
from trimtab.store.protocol import Branch, NewChat, StoredEvent
from trimtab.store.sql_store import SqlStore
from trimtab_sdk.errors import ChatChangedError, InvalidRequestError, NotFoundError

pytestmark = pytest.mark.anyio


async def test_a_new_chat_comes_back_with_its_messages(store: SqlStore) -> None:
    chat = NewChat(
        id="c",
        owner="ann",
        settings={"contextStrategy": "truncate", "n": [1, 2.5, None, "ü"]},
        title="Boats \0 and \ud800 quays",
        messages=(said("s", role="system"), said("u")),
    )
    made = await store.create_chat(chat, now=5.0)
    assert made == await store.get_chat("c", owner="ann")
    assert made.settings == {"contextStrategy": "truncate", "n": [1, 2.5, None, "ü"]}
    assert made.title == "Boats \0 and \ud800 quays"
    assert (made.revision, made.history_revision, made.created_at, made.updated_at) == (1, 1, 5.0, 5.0)
    assert (made.last_provider_state, made.last_context_state, made.carried, made.turn_id) == (None,) * 4
    first, second = await store.messages("c", owner="ann")
    assert (first.seq, first.parent, first.revision, first.changed, first.turn_id) == (1, None, 1, 1, None)
    assert (second.seq, second.parent, second.created_at, second.status) == (2, "s", 5.0, "complete")
    assert second.message == said("u").message


async def test_a_taken_chat_id_is_refused_and_nothing_changes(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "one"), now=1.0)
    with pytest.raises(InvalidRequestError, match="'c' is taken"):
        await store.create_chat(new_chat("c", "two", owner="bob"), now=2.0)
    assert await ids(store) == ["one"]


@pytest.mark.parametrize("id", ["", "a\0b", "\ud800", "x" * 256])
async def test_what_cannot_be_an_id_is_refused_and_never_found(store: SqlStore, id: str) -> None:
    with pytest.raises(InvalidRequestError):
        await store.create_chat(new_chat(id), now=1.0)
    with pytest.raises(InvalidRequestError):
        await store.create_chat(new_chat("c", id), now=1.0)
    with pytest.raises(NotFoundError):
        await store.get_chat(id, owner="ann")
    with pytest.raises(NotFoundError):
        await store.get_turn(id, owner="ann")
    assert await store.list_chats(owner=id) == []


async def test_one_id_twice_in_a_chat_is_refused(store: SqlStore) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await store.create_chat(new_chat("c", "one", "two", "one"), now=1.0)
    assert caught.value.ids == ("one",)
    with pytest.raises(NotFoundError):
        await store.get_chat("c", owner="ann")


async def test_a_value_that_is_no_json_is_refused(store: SqlStore) -> None:
    with pytest.raises(InvalidRequestError, match="settings"):
        await store.create_chat(NewChat(id="c", owner="ann", settings={"bad": {1, 2}}), now=1.0)


async def test_settings_and_title_raise_the_revision_but_not_that_of_the_history(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "one"), now=1.0)
    named = await store.update_chat("c", owner="ann", now=2.0, title="Quays")
    assert (named.title, named.revision, named.history_revision, named.updated_at) == ("Quays", 2, 1, 2.0)
    set_ = await store.update_chat("c", owner="ann", now=3.0, settings={"model": "n"}, revision=2)
    assert (set_.settings, set_.title, set_.revision) == ({"model": "n"}, "Quays", 3)
    assert await store.update_chat("c", owner="ann", now=4.0) == set_


async def test_an_update_at_an_old_revision_changes_nothing(store: SqlStore) -> None:
    await store.create_chat(new_chat(), now=1.0)
    await store.update_chat("c", owner="ann", now=2.0, title="one")
    with pytest.raises(ChatChangedError) as caught:
        await store.update_chat("c", owner="ann", now=3.0, title="two", revision=1)
    assert caught.value.revision == 2
    assert (await store.get_chat("c", owner="ann")).title == "one"


async def test_the_listing_is_paged_and_the_last_changed_comes_first(store: SqlStore) -> None:
    for at in range(7):
        await store.create_chat(new_chat(f"c{at}"), now=float(at))
    await store.update_chat("c2", owner="ann", now=50.0, title="newest")
    seen: list[str] = []
    before = None
    while page := await store.list_chats(owner="ann", limit=3, before=before):
        assert len(page) <= 3
        seen += [chat.id for chat in page]
        before = (page[-1].updated_at, page[-1].id)
    assert seen == ["c2", "c6", "c5", "c4", "c3", "c1", "c0"]
    assert await store.list_chats(owner="ann", limit=0) == []


async def test_the_listing_has_the_order_of_changes_when_clocks_stand_still_or_go_back(store: SqlStore) -> None:
    for at, now in enumerate([100.0, 100.0, 100.0, 40.0, 99.0]):
        await store.create_chat(new_chat(f"c{at}"), now=now)
    await store.update_chat("c1", owner="ann", now=7.0, title="changed last, says no clock")
    assert [chat.id for chat in await store.list_chats(owner="ann")] == ["c1", "c4", "c3", "c2", "c0"]


async def test_a_deleted_chat_takes_everything_with_it(store: SqlStore) -> None:
    chat = await store.create_chat(new_chat("c", "one"), now=1.0)
    begun = await begin(store, chat, "t", "two")
    await store.add_events("t", [StoredEvent(1, {"kind": "turn_started"})])
    await store.delete_chat("c", owner="ann")
    for gone in (
        store.get_chat("c", owner="ann"),
        store.messages("c", owner="ann"),
        store.audit("c", owner="ann"),
        store.last_turn("c", owner="ann"),
        store.get_turn("t", owner="ann"),
        store.events("t", owner="ann"),
    ):
        with pytest.raises(NotFoundError):
            await gone
    await store.create_chat(new_chat("c", "one"), now=1.0)
    assert await store.audit("c", owner="ann") is None
    assert await store.last_turn("c", owner="ann") is None
    assert await store.recover(now=1e9, is_dead=nobody_is_dead) == []
    assert begun.turn.id == "t"


_Ask = Callable[[SqlStore], Awaitable[object]]
_ASKED: dict[str, _Ask] = {
    "get_chat": lambda store: store.get_chat("c", owner="bob"),
    "update_chat": lambda store: store.update_chat("c", owner="bob", now=9.0, title="mine"),
    "delete_chat": lambda store: store.delete_chat("c", owner="bob"),
    "messages": lambda store: store.messages("c", owner="bob"),
    "full_text": lambda store: store.full_text("c", "one", owner="bob"),
    "message_at": lambda store: store.message_at("c", "one", 1, owner="bob"),
    "change_messages": lambda store: store.change_messages("c", [Branch(None)], owner="bob", now=9.0),
    "resume_turn": lambda store: store.resume_turn("t", owner="bob", lease_holder="h", lease_until=99.0, now=9.0),
    "request_cancel": lambda store: store.request_cancel("t", owner="bob"),
    "get_turn": lambda store: store.get_turn("t", owner="bob"),
    "last_turn": lambda store: store.last_turn("c", owner="bob"),
    "turn_of_key": lambda store: store.turn_of_key("c", "k", owner="bob"),
    "turn_messages": lambda store: store.turn_messages("t", owner="bob"),
    "audit": lambda store: store.audit("c", owner="bob"),
    "events": lambda store: store.events("t", owner="bob"),
}


async def test_what_belongs_to_another_owner_does_not_exist(store: SqlStore) -> None:
    chat = await store.create_chat(new_chat("c", "one"), now=1.0)
    await store.create_chat(new_chat("b", owner="bob"), now=1.0)
    begun = await begin(store, chat, "t", "two")
    await store.step_turn(step(begun, loop_state={"waits": True}))
    before = await store.get_chat("c", owner="ann"), await store.get_turn("t", owner="ann")
    found = [name for name, ask in _ASKED.items() if not await _is_hidden(ask(store))]
    assert found == []
    assert before == (await store.get_chat("c", owner="ann"), await store.get_turn("t", owner="ann"))
    assert await ids(store) == ["one", "two"]
    assert [one.id for one in await store.list_chats(owner="bob")] == ["b"]


async def _is_hidden(asked: Awaitable[object]) -> bool:
    try:
        await asked
    except NotFoundError:
        return True
    return False


def test_every_method_that_takes_an_owner_is_asked_for_anothers() -> None:
    taking = {name for name, one in vars(SqlStore).items() if "owner" in getattr(one, "__annotations__", {})}
    assert taking - _ASKED.keys() == {"list_chats"}


async def test_a_turn_is_not_begun_on_the_chat_of_another_owner(store: SqlStore) -> None:
    chat = await store.create_chat(new_chat("c", "one"), now=1.0)
    with pytest.raises(NotFoundError):
        await begin(store, replace(chat, owner="bob"), "t", "two")
    assert await ids(store) == ["one"]


async def test_keep_leaves_the_states_and_none_clears_them(store: SqlStore) -> None:
    chat = await store.create_chat(new_chat(), now=1.0)
    begun = await begin(store, chat, "t1", "u1")
    snapshot, carried = {"ratio": 0.5}, {"drops": ["a"]}
    await store.finish_turn(
        end(begun, "a1", provider_state="an envelope", context_state=snapshot, carried=carried)
    )
    kept = await store.get_chat("c", owner="ann")
    assert kept.last_provider_state == "an envelope"
    assert (kept.last_context_state, kept.carried) == ({"ratio": 0.5}, {"drops": ["a"]})
    begun = await begin(store, kept, "t2", "u2")
    await store.finish_turn(end(begun))
    still = await store.get_chat("c", owner="ann")
    assert (still.last_provider_state, still.last_context_state, still.carried) == (
        kept.last_provider_state,
        kept.last_context_state,
        kept.carried,
    )
    begun = await begin(store, still, "t3", "u3")
    await store.finish_turn(end(begun, provider_state=None, context_state=None, carried=None))
    cleared = await store.get_chat("c", owner="ann")
    assert (cleared.last_provider_state, cleared.last_context_state, cleared.carried) == (None, None, None)
