import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.fitting.outside import clean_input
from trimtab_sdk import InvalidRequestError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_clean_values_come_back_as_the_same_object(value: object) -> None:
    cleaned = clean_input(value)
    assert cleaned.data is value
    assert cleaned.replaced == []


def test_lone_surrogates_are_replaced_on_a_copy_with_their_paths() -> None:
    given: Any = [{"content": "a\ud83d", "meta": {"k\udc00": [1, "\ud800\ud800"]}}, {"content": "fine 🙂"}]
    cleaned = clean_input(given)
    assert cleaned.data == [{"content": "a\ufffd", "meta": {"k\ufffd": [1, "\ufffd\ufffd"]}}, given[1]]
    data: Any = cleaned.data
    assert data[1] is given[1]
    assert given[0]["content"] == "a\ud83d"
    assert len(cleaned.replaced) == 3
    assert cleaned.replaced[0] == "messages[0].content"


@pytest.mark.parametrize("value", [math.nan, math.inf, b"x", {1: 2}, object(), {1, 2}])
def test_what_json_cannot_hold_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        clean_input([{"content": "ok"}, {"content": value}])
    assert caught.value.path == "messages[1].content"


def test_depth_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    assert clean_input(deep).data is deep
    for _ in range(100):
        deep = {"k": deep}
    with pytest.raises(InvalidRequestError, match="deep"):
        clean_input(deep)


def test_messages_of_an_sdk_are_read_through_their_model_dump() -> None:
    class Dumping:
        def model_dump(self, **options: object) -> dict[str, object]:
            return {"role": "user", "content": "hi"}

    assert clean_input([Dumping()]).data == [{"role": "user", "content": "hi"}]


def test_texts_of_a_class_of_their_own_become_plain_texts() -> None:
    class Loud(str):
        def __len__(self) -> int:
            return 0

    cleaned: Any = clean_input([Loud("hello")]).data
    assert type(cleaned[0]) is str
    assert cleaned == ["hello"]
