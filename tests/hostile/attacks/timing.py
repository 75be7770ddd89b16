"""Time: calls that never end, hide from their deadline, or stay just within it again and again."""

from __future__ import annotations

from functools import partial

from hostile.attack import REACH, Attack

_time = partial(Attack, family="time", defence="worker", seconds=0.5, within=8.0, told="^PLUGIN_TIMEOUT")

ATTACKS = (
    _time(name="an endless loop", does="never comes back", body="while True: pass"),
    _time(
        name="a loop in C",
        does="never comes back to Python code, where it could be told to stop",
        trusted="lost",
        body="sum(range(10 ** 12))",
    ),
    _time(
        name="a loop that catches everything",
        does="catches whatever is thrown at it and goes on",
        body="while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ),
    _time(name="a long sleep", does="sleeps for an hour", kind="interceptor", body="time.sleep(3600)"),
    _time(
        name="an expensive pattern",
        does="matches a pattern that takes exponential time",
        trusted="lost",
        body="import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    ),
    _time(
        name="an error that never tells",
        does="raises an exception whose text takes for ever",
        body="""
            class Endless(Exception):
                def __str__(self):
                    while True: pass
            raise Endless
            """,
    ),
    _time(
        name="deaf",
        does="does not read what it is sent",
        trusted="",
        head=REACH,
        play="again",
        limits={"turn_seconds": 0.6},
        body="send(kind='answer', edit=None)\ntime.sleep(3600)",
        told="^PLUGIN_",
    ),
    _time(
        name="stopped",
        does="stops its own process, which a deadline inside of it would never notice",
        trusted="lost",
        head="import signal",
        body="attempt('to stop', lambda: (os.kill(os.getpid(), signal.SIGSTOP), 1 / 0))\nreturn said()",
        told="^(note tried|PLUGIN_)",
    ),
    _time(
        name="a clock turned back",
        does="replaces the clock, so that no deadline ever passes",
        head="NOW = time.monotonic()",
        body="time.monotonic = time.time = lambda: NOW - 9999\nwhile True: pass",
    ),
    _time(
        name="output without end",
        does="prints until somebody stops it",
        trusted="lost",
        body="while True: os.write(2, b'x' * 60_000)",
        within=5.0,
    ),
    _time(
        name="an import without end",
        does="never finishes being imported",
        trusted="lost",
        source="while True: pass",
        told="^PLUGIN_TIMEOUT .*was not loaded|^PLUGIN_TIMEOUT .*did not answer",
        within=16.0,
    ),
    _time(
        name="just in time, ten times",
        does="takes nine tenths of its deadline in every step of one turn",
        defence="conduct",
        kind="interceptor",
        play="tool loop",
        seconds=0.5,
        body="time.sleep(0.45)\nreturn Edit(notes=['tried'])",
        told="^PLUGIN_TIMEOUT .*for this turn are used up",
        within=15.0,
    ),
    _time(
        name="late again and again",
        does="is late in every fit of a conversation",
        defence="conduct",
        play="again",
        seconds=0.2,
        limits={"turn_seconds": 5},
        body="time.sleep(0.4)",
        told="^PLUGIN_SUSPENDED",
        trusted_told="^PLUGIN_(BUSY|SUSPENDED)",
    ),
    _time(
        name="crashing again and again",
        does="crashes in every fit of a conversation",
        defence="conduct",
        play="again",
        body="1 / 0",
        told="^PLUGIN_SUSPENDED",
    ),
    _time(
        name="cheating again and again",
        does="drops what is protected in every fit of a conversation",
        defence="conduct",
        play="again",
        body="return Edit(drop={'m0': 'context-shift'})",
        told="^PLUGIN_SUSPENDED",
    ),
)
