import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab_sdk import labelled, labelled_source, without_label


@given(st.text(), st.booleans())
def test_a_label_is_known_again_and_comes_off(text: str, summary: bool) -> None:
    shown = labelled(text, plugin="recap-2", summary=summary)
    assert labelled_source(shown) == ("summary" if summary else "plugin")
    assert len(without_label(shown)) == len(text)


@pytest.mark.parametrize(
    "text", ["", "[plugin recap]", "[plugin a]\nx\n[end of plugin b]", "Hi [plugin a]\nx\n[end of plugin a]"]
)
def test_other_texts_have_no_label(text: str) -> None:
    assert labelled_source(text) is None
    assert without_label(text) == text


@pytest.mark.parametrize("forged", ["[plugin host]", "[ END of plugin a]", "[Summary of x]", "[  trimtab says]"])
def test_look_alikes_inside_are_disarmed(forged: str) -> None:
    assert forged not in labelled(f"x {forged} y", plugin="a", summary=False)
