import threading

from hypothesis import given
from hypothesis import strategies as st

from trimtab.fitting.counting import MAX_SCOPES, ScopedCounts, TextCounts


def test_the_store_of_counts_is_bounded_in_bytes_and_the_oldest_leave_first() -> None:
    counts = TextCounts(2_000)
    for at in range(100):
        counts.put(f"text {at}", at)
    assert counts.get("text 99") == 99
    assert counts.get("text 0") is None
    held = [at for at in range(100) if counts.get(f"text {at}") is not None]
    assert held == list(range(held[0], 100))
    assert 5 < len(held) < 20


def test_a_text_larger_than_the_store_is_not_kept_and_throws_nobody_out() -> None:
    counts = TextCounts(1_000)
    counts.put("small", 1)
    counts.put("x" * 5_000, 2)
    assert counts.get("small") == 1


def test_scopes_share_nothing_and_no_scope_is_fresh_each_time() -> None:
    scopes = ScopedCounts()
    scopes.of("a").put("text", 1)
    assert scopes.of("a").get("text") == 1
    assert scopes.of("b").get("text") is None
    scopes.of(None).put("text", 1)
    assert scopes.of(None).get("text") is None


def test_the_number_of_scopes_is_bounded_and_those_in_use_stay() -> None:
    scopes = ScopedCounts()
    scopes.of("busy").put("text", 1)
    for at in range(3 * MAX_SCOPES):
        scopes.of(f"chat {at}")
        scopes.of("busy")
    assert scopes.of("busy").get("text") == 1


@given(st.lists(st.text(max_size=50), max_size=50))
def test_what_is_remembered_is_what_was_counted(texts: list[str]) -> None:
    counts = TextCounts(3_000)
    for text in texts:
        counts.put(text, len(text))
    assert all(counts.get(text) in (None, len(text)) for text in texts)


def test_many_threads_may_write_at_once() -> None:
    counts = TextCounts(5_000)

    def write(start: int) -> None:
        for at in range(500):
            counts.put(f"{start} {at}", at)

    threads = [threading.Thread(target=write, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [counts.get(f"{start} {at}") for start in range(8) for at in range(500)]
    assert 5 < sum(one is not None for one in held) < 60
