from factories import calls, message, result
from trimtab_sdk import Message, Notice, link_groups, open_step, protection_reasons, unanswered_step


def reasons(chat: list[Message], *pins: str) -> dict[str, str]:
    return protection_reasons(chat, link_groups(chat), pins=pins)


def test_system_and_developer_text_persona_and_required_entries_are_protected() -> None:
    chat = [
        message("s", "system", source="system"),
        message("d", "developer", source="system"),
        message("p", source="persona"),
        message("c", source="character"),
        message("l", "system", source="lorebook", required=True),
        message("l2", "system", source="lorebook"),
        message("mem", "system", source="memory"),
        message("a", "assistant"),
        message("u"),
    ]
    assert reasons(chat) == {
        "s": "system",
        "d": "developer",
        "p": "persona",
        "c": "character",
        "l": "required",
        "u": "current-input",
    }


def test_all_trailing_user_messages_are_the_current_input() -> None:
    chat = [message("u1"), message("a", "assistant"), message("u2"), message("u3")]
    assert set(reasons(chat)) == {"u2", "u3"}


def test_the_last_user_message_is_the_input_when_the_list_ends_otherwise() -> None:
    chat = [message("u1"), message("u2"), message("a", "assistant")]
    assert reasons(chat) == {"u2": "current-input"}


def test_only_a_pin_protects_a_summary_or_a_plugin_text() -> None:
    chat = [
        message("k", "system", source="summary", required=True),
        message("n", "system", source="plugin"),
        message("u"),
    ]
    assert set(reasons(chat)) == {"u"}
    assert reasons(chat, "k")["k"] == "pinned"


def test_a_memory_behind_the_input_does_not_end_it() -> None:
    chat = [message("u1"), message("a", "assistant"), message("u2"), message("mem", source="memory")]
    assert reasons(chat) == {"u2": "current-input"}


def test_the_open_step_is_protected_and_the_finished_one_is_not() -> None:
    chat = [
        message("u"),
        calls("a1", "x"),
        result("r1", "x"),
        calls("a2", "y", "z"),
        result("ry", "y"),
        result("rz", "z"),
    ]
    assert reasons(chat) == {"u": "current-input", "a2": "open-step", "ry": "open-step", "rz": "open-step"}


def test_a_step_that_only_users_follow_is_not_protected_but_known() -> None:
    chat = [message("u"), calls("a", "x"), result("r", "x"), message("v")]
    groups = link_groups(chat)
    assert reasons(chat) == {"v": "current-input"}
    assert open_step(chat, groups) == ()
    assert [group.ids for group in unanswered_step(chat, groups)] == [("a", "r")]


def test_a_pinned_result_protects_its_whole_group() -> None:
    chat = [calls("a", "x"), result("r", "x"), message("b", "assistant"), message("u")]
    assert reasons(chat, "r") == {"a": "pinned", "r": "pinned", "u": "current-input"}


def test_a_notice_at_the_end_hides_no_input() -> None:
    notice = Message("n", "system", (Notice("hint"),), source="plugin")
    assert reasons([message("u1"), message("a", "assistant"), message("u2"), notice]) == {"u2": "current-input"}
