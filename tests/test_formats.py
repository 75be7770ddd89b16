import trimtab
from trimtab.formats import SAMPLE_EDGE, sample_of


def test_short_lists_are_shown_whole() -> None:
    items: list[object] = list(range(4 * SAMPLE_EDGE))
    assert sample_of(items) is items
    assert sample_of({"messages": items, "model": "m"}) == {"messages": items, "model": "m"}


def test_of_a_long_list_both_ends_and_a_spread_between_are_shown_in_order() -> None:
    items: list[object] = list(range(100_000))
    sample = sample_of(items)
    assert isinstance(sample, list)
    assert sample == sorted(sample)
    assert len(sample) <= 4 * SAMPLE_EDGE
    assert sample[:SAMPLE_EDGE] == items[:SAMPLE_EDGE]
    assert sample[-SAMPLE_EDGE:] == items[-SAMPLE_EDGE:]
    assert len(sample) > 3.9 * SAMPLE_EDGE


def test_an_ambiguous_list_is_read_by_the_codec_of_the_models_provider() -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    formats = {
        model: trimtab.fit(chat, model=model).format for model in ("gpt-4o", "claude-opus-5", "deepseek-flash")
    }
    assert formats == {
        "gpt-4o": "chat-completions",
        "claude-opus-5": "anthropic-messages",
        "deepseek-flash": "chat-completions",
    }
