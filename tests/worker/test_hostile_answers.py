"""Workers whose plugin speaks to the host itself: forged, doubled, giant and early frames, and odd questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.loading.worker.calling import Use, load_confined
from trimtab.loading.worker.pool import WorkerPool
from trimtab_sdk import PluginCrashedError, PluginLoadError, PluginRejectedError
from worker.confined_plugins import (
    BAD,
    GOOD,
    REACH,
    WORKS_WHEN_GOOD,
    bounds,
    call,
    module,
    next_pid,
    notes_of,
    plugin,
    processes_of,
    run_host,
    settle,
    told,
)

UNASKED = r"nobody asked for|answers another call"
FRAMES = {
    "garbage": ("os.write(outgoing(), b'garbage of some length')", "sent a frame of|no JSON"),
    "no UTF-8": (r"send_body(b'{\"kind\": \"\xff\"}')", "no JSON"),
    "200 MB": ("send_body(bytes(200_000_000))", "sent a frame of 200000000 bytes; at most 8388608"),
    "a length alone": ("os.write(outgoing(), bytes([255] * 4))", "sent a frame of 4294967295 bytes"),
    "nested 200,000 deep": ("send_body(b'[' * 200_000 + b']' * 200_000)", "no JSON"),
    "millions of lists": ("send_body(b'[' + b'[],' * 2_000_000 + b'[]]')", "more than 500000 values"),
    "a number without end": ("send_body(b'{\"a\": 1' + b'0' * 10**6 + b'}')", "a number of 1000001 digits"),
    "NaN": ("send_body(b'{\"a\": NaN}')", "NaN is no number"),
    "an answer without a ticket": (
        "pipe().write(pack({'kind': 'answer', 'edit': None}))",
        "sent something that answers another call, or none",
    ),
    "an answer with a ticket of its own": (
        "pipe().write(pack({'kind': 'answer', 'edit': None, 'ticket': '0' * 16}))",
        "sent something that answers another call, or none",
    ),
    "another blank": ("send(kind='blank', steps=[])", "something else where the answer stands"),
    "another lock": (
        "send(kind='locked', steps=[['seccomp', True, '']])",
        "something else where the answer stands",
    ),
    "other traits": ("send(kind='ready', traits={})", "something else where the answer stands"),
    "an answer without an edit": ("send(kind='answer')", "something else where the answer stands"),
    "an edit of messages": ("send(kind='answer', edit={'messages': []})", "something else where the edit stands"),
    "a complaint that is no text": ("send(kind='answer', wrong={})", "no text"),
    "a question for nothing": ("send(kind='ask')", "a service that it was not offered"),
    "a question for a service of another name": ("send(kind='ask', service=['cost'])", "not offered"),
    "a question for a service that is not offered": ("send(kind='ask', service='embed', value=[])", "not offered"),
    "a question about a number": ("send(kind='ask', service='cost', value=1)", "asked what cannot be answered"),
    "a question about nothing": ("send(kind='ask', service='cost')", "asked what cannot be answered"),
}


def cost(value: object) -> object:
    if type(value) is not str:
        raise TypeError("a text is wanted")
    return len(value)


@pytest.mark.parametrize(("body", "words"), FRAMES.values(), ids=FRAMES)
def test_a_frame_that_no_honest_worker_sends_is_rejected_and_the_next_call_works(
    pool: WorkerPool, tmp_path: Path, body: str, words: str
) -> None:
    spec = plugin(tmp_path, body + "\nwhile True: pass", first=WORKS_WHEN_GOOD, head=REACH)
    session = next_pid(pool)

    with pytest.raises(PluginRejectedError, match=rf"odd \(trimtab-odd 1.0\) in trimtab_shift: .*({words})"):
        call(pool, spec, request=BAD, services={"cost": cost})

    settle(pool)
    assert processes_of(session) == []
    assert notes_of(call(pool, spec, request=GOOD)) == ["works"]


EDITS = {
    "nested notes": "x = []\nfor _ in range(200_000): x = [x]\nreturn Edit(notes=[x])",
    "an object": "return Edit(notes=[object()])",
    "bytes": "return Edit(notes=[b'x'])",
    "a number of 5,000 digits": "return Edit(relevant=[10**5000])",
    "a span of NaN": "return Edit(shorten={('a', (0,)): [(float('nan'), 1)]})",
    "a set": "return Edit(relevant={'a'})",
    "a generator": "return Edit(relevant=(one for one in 'ab'))",
    "a drop that is a list": "return Edit(drop=['a'])",
    "a drop with a number": "return Edit(drop={1: 'context-shift'})",
    "a drop of a kind of its own": "return Edit(drop=type('Own', (dict,), {})())",
    "a shorten of a kind of its own": "return Edit(shorten=type('Own', (dict,), {})())",
    "a shorten without paths": "return Edit(shorten={'a': [(0, 1)]})",
    "an insert that is a text": "return Edit(insert=['hello'])",
    "an edit of a kind of its own": "return type('Own', (Edit,), {})()",
    "a wrong that cannot say why": """
        class Mute(Exception):
            def __str__(self): raise ValueError
        class Own:
            def __iter__(self): raise Mute
        return Edit(shorten={('a', Own()): []})
        """,
}


@pytest.mark.parametrize("body", EDITS.values(), ids=EDITS)
def test_an_edit_that_is_none_is_rejected_or_told_as_a_crash(pool: WorkerPool, tmp_path: Path, body: str) -> None:
    spec = plugin(tmp_path, body)

    with pytest.raises((PluginRejectedError, PluginCrashedError), match=r"odd \(trimtab-odd 1.0\)"):
        call(pool, spec)


def test_an_answer_too_large_to_send_is_rejected(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "return Edit(notes=['x' * 9_000_000])")

    with pytest.raises(PluginRejectedError, match="at most 8388608 are taken"):
        call(pool, spec)


def test_the_second_answer_to_one_call_never_answers_the_next(pool: WorkerPool, tmp_path: Path) -> None:
    body = "send(kind='answer', edit={'notes': ['first']})\nreturn Edit(notes=['second'])"
    spec = plugin(tmp_path, body, head=REACH)

    assert notes_of(call(pool, spec, scope="twice")) == ["first"]
    with pytest.raises(PluginRejectedError, match=UNASKED):
        call(pool, spec, scope="twice")
    assert notes_of(call(pool, spec, scope="twice")) == ["first"]


def test_an_answer_held_back_until_the_next_call_came_never_answers_it(pool: WorkerPool, tmp_path: Path) -> None:
    body = """
        import select
        send(kind='answer', edit={'notes': ['first']})
        select.select([pipe()._incoming], [], [])
        return Edit(notes=['second'])
        """
    spec = plugin(tmp_path, body, head=REACH)

    assert notes_of(call(pool, spec, scope="held back")) == ["first"]
    with pytest.raises(PluginRejectedError, match="answers another call"):
        call(pool, spec, scope="held back")


def test_an_answer_before_the_call_was_read_is_rejected(pool: WorkerPool, tmp_path: Path) -> None:
    head = (
        REACH
        + """
receive = Pipe.receive

def early(self):
    self.write(pack({"kind": "answer", "edit": None, "ticket": ""}))
    return receive(self)
"""
    )
    traits = "\n@hookimpl\ndef trimtab_traits():\n    Pipe.receive = early\n"
    spec = plugin(tmp_path, "return None", head=head + traits)

    with pytest.raises(PluginRejectedError, match=UNASKED):
        call(pool, spec)


AT_IMPORT = {
    "a lock": "send(kind='locked', steps=[['seccomp', False, 'forged']])",
    "a blank": "send(kind='blank', steps=[['seccomp', False, 'forged']])",
    "a failure": "send(kind='failed', text='forged', trace='')",
    "traits of another shape": "send(kind='ready', traits=[])",
    "an answer": "send(kind='answer', edit=None)",
    "garbage": "os.write(outgoing(), b'garbage of some length')",
}


@pytest.mark.parametrize("line", AT_IMPORT.values(), ids=AT_IMPORT)
def test_frames_forged_while_the_plugin_is_imported_make_it_fail_to_load(
    pool: WorkerPool, tmp_path: Path, line: str
) -> None:
    spec = module(tmp_path, REACH + line + "\n@hookimpl\ndef trimtab_shift(): pass")

    with pytest.raises(PluginLoadError, match="could not be loaded in a worker"):
        load_confined(pool, spec, bounds())


def test_traits_forged_while_the_plugin_is_imported_are_its_own_and_end_its_first_call(
    pool: WorkerPool, tmp_path: Path
) -> None:
    forged = "send(kind='ready', traits={'settings_schema': None, 'per_turn': True, 'needs': []})"
    spec = module(tmp_path, REACH + forged + "\n@hookimpl\ndef trimtab_shift(): pass")

    loaded = load_confined(pool, spec, bounds())

    assert loaded.traits.per_turn
    assert {step.step for step in loaded.steps} >= {"seccomp", "landlock", "rlimits"}
    with pytest.raises(PluginRejectedError, match=UNASKED):
        call(pool, spec, scope="forged")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{'$ref': 'http://127.0.0.1:9/'}", "which is not taken from a confined plugin"),
        ("{'properties': {'a': {'pattern': '(a+)+$'}}}", "which is not taken from a confined plugin"),
        ("{'title': 'x' * 20_000}", "of more than 16384 characters"),
        ("{'a': 1} | {str(at): {} for at in range(600_000)}", "more than 500000 values"),
        ("__import__('functools').reduce(lambda x, _: {'not': x}, range(100), {})", "nested over 32 deep"),
        ("{'minimum': float('inf')}", "Infinity is no number"),
        ("{'title': chr(0xd800)}", "half a character"),
    ],
)
def test_a_hostile_settings_schema_makes_the_plugin_fail_to_load(
    pool: WorkerPool, tmp_path: Path, schema: str, words: str
) -> None:
    told_traits = f"@hookimpl\ndef trimtab_traits(): return Traits({schema})"
    spec = plugin(tmp_path, "pass", head=told_traits)

    with pytest.raises(PluginLoadError, match=words):
        load_confined(pool, spec, bounds())


def test_a_plugin_that_asks_too_often_is_ended(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "for at in range(100): request.cost_of_insert(str(at))")
    use = Use()

    with pytest.raises(PluginRejectedError, match="asked the host more than 20 times"):
        call(pool, spec, services={"cost": cost}, within=bounds(service_calls=20), use=use)

    assert use.asked == 21


def test_questions_are_answered_and_counted_and_the_same_one_is_asked_once(
    pool: WorkerPool, tmp_path: Path
) -> None:
    body = """
        costs = [request.cost_of_insert(text) for text in ('four', 'fourth', 'four')]
        counts = [services.count(text) for text in ('a\\ud800', '\\U0001f642', '')]
        return Edit(notes=[repr(costs), repr(counts), repr([services.can(one) for one in ('count', 'embed')])])
        """
    heard: list[object] = []

    def count(text: object) -> object:
        heard.append(text)
        return len(heard)

    spec = plugin(tmp_path, body)
    services = {"cost": cost, "count": count}

    called = call(pool, spec, services=services, offered=("count",))

    assert notes_of(called) == ["[4, 6, 4]", "[1, 2, 3]", "[True, False]"]
    assert heard == ["a\ud800", "\U0001f642", ""]
    assert called.use.asked == 5


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("services.count('x')", "ServiceUnavailableError"),
        ("services.embed(['x'])", "ServiceUnavailableError"),
        ("services.count(7)", "TypeError: services.count takes a text, not a int"),
        ("request.cost_of_insert(None)", "TypeError: cost_of_insert takes a text"),
        ("request.cost_of_insert('x' * 10**7)", "ValueError: cost_of_insert takes at most 500000 characters"),
    ],
)
def test_a_wrong_question_is_an_error_in_the_plugin(
    pool: WorkerPool, tmp_path: Path, body: str, words: str
) -> None:
    with pytest.raises(PluginCrashedError, match=words):
        call(pool, plugin(tmp_path, body), services={"cost": cost})


def test_a_plugin_may_go_on_after_a_service_was_not_there(pool: WorkerPool, tmp_path: Path) -> None:
    body = "try: services.embed(['x'])\nexcept Exception as error: return Edit(notes=[str(error)])"

    (note,) = notes_of(call(pool, plugin(tmp_path, body)))

    assert note.startswith("this host has no service 'embed'")


def test_the_hosts_memory_stays_bounded_whatever_is_answered() -> None:
    done = run_host(
        """
        import json, resource, tempfile
        from pathlib import Path
        from trimtab.loading.worker.pool import worker_pool
        from trimtab_sdk import PluginError
        from worker.confined_plugins import REACH, call, plugin
        ANSWERS = [
            "send_body(bytes(200_000_000))",
            "send_body(b'[' + b'[],' * 2_000_000 + b'[]]')",
            "send_body(b'{' + b','.join(b'\\"%d\\":{}' % at for at in range(160_000)) + b'}')",
            "send_body(b'[' + b'1e300,' * 499_000 + b'1]')",
            "send(kind='answer', edit={'notes': ['\\\\U0001f642' + 'x' * 8_000_000]})",
            "send(kind='ask', service='cost', value='\\\\U0001f642' + 'x' * 8_000_000)",
            "send(kind='failed', text='x' * 4_000_000, trace='y\\\\n' * 1_000_000)",
            "while True: os.write(2, b'x' * 60_000)",
        ]
        calls = []
        for at, line in enumerate(ANSWERS):
            spec = plugin(Path(tempfile.mkdtemp()), line, head=REACH, name=f"answer_{at}")
            if not calls:
                call(worker_pool(), plugin(Path(tempfile.mkdtemp()), "pass"))
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                call(worker_pool(), spec, seconds=3, services={"cost": lambda _: 1})
            except PluginError as error:
                calls.append(error.code)
            else:
                calls.append("")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(json.dumps({"codes": calls, "grown": grown // 1024}))
        """
    )

    answer = told(done)
    assert answer["codes"] == [
        *["PLUGIN_REJECTED"] * 4,
        "",
        "PLUGIN_REJECTED",
        "PLUGIN_CRASHED",
        "PLUGIN_TIMEOUT",
    ]
    assert isinstance(answer["grown"], int)
    assert answer["grown"] < 200
