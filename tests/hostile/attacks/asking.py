"""Abuse of what the host does for a plugin."""

from __future__ import annotations

from functools import partial

from hostile.attack import REACH, Attack

_ask = partial(Attack, family="services", defence="worker")
REJECTED = "^PLUGIN_REJECTED"

ATTACKS = (
    _ask(
        name="questions without end",
        does="asks for the count of one new text after another",
        limits={"service_calls": 500},
        seconds=3,
        body="for at in iter(int, 1): services.count(f'text {at} {time.monotonic()}')",
        told=REJECTED,
        trusted_told="^PLUGIN_TIMEOUT",
    ),
    _ask(
        name="giant questions",
        does="asks for the counts of texts of half a million blanks, again and again",
        seconds=1,
        body="for at in iter(int, 1): services.count(' ' * (499_000 + at % 1000))",
        told="^PLUGIN_(TIMEOUT|REJECTED)",
        within=12,
    ),
    _ask(
        name="a question of eight megabytes",
        does="asks about a text that is longer than the host takes",
        trusted="",
        head=REACH,
        body="send(kind='ask', service='cost', value='x' * 8_000_000)\ntime.sleep(60)",
        told=REJECTED,
    ),
    _ask(
        name="a question about no text",
        does="asks for the cost of a number, a list and nothing",
        trusted="",
        head=REACH,
        body="send(kind='ask', service='cost', value=[['x'] * 9] * 9)\ntime.sleep(60)",
        told=REJECTED,
    ),
    _ask(
        name="a service by another name",
        does="asks for a method of the host that is no service",
        trusted="",
        head=REACH,
        body="send(kind='ask', service='__class__', value='x')\ntime.sleep(60)",
        told=REJECTED,
    ),
    _ask(
        name="a service that was taken away",
        does="asks for counts that the configuration does not grant",
        trusted="",
        config={"grants": {"attack": {"services": []}}},
        head=REACH,
        body="send(kind='ask', service='count', value='x')\ntime.sleep(60)",
        told=REJECTED,
    ),
    _ask(
        name="a question after the answer",
        does="answers, and goes on asking",
        trusted="",
        head=REACH,
        play="again",
        body="send(kind='answer', edit=None)\nsend(kind='ask', service='cost', value='x')\ntime.sleep(60)",
        told="^PLUGIN_",
    ),
    _ask(
        name="services of another call",
        does="keeps the services of its first call and asks them in the next one",
        play="again",
        trusted="held",
        head="KEPT = []",
        body="""
            KEPT.append((services, request.cost_of_insert))
            attempt('to count for another call', lambda: KEPT[0][0].count(f'text {len(KEPT)}') and None or 1 / 0)
            return said()
            """,
        told="^(PLUGIN_REJECTED|note tried)",
    ),
    _ask(
        name="brackets to be priced",
        does="asks for the cost of half a million beginnings of labels",
        seconds=3,
        within=12,
        body="""
            for text in ('[', '[ ', '[\\u200b', '[end of '):
                request.cost_of_insert(text * (490_000 // len(text)))
            return Edit(notes=['tried'])
            """,
    ),
    _ask(
        name="texts of odd classes",
        does="asks about texts whose class answers for them",
        body="""
            class Odd(str):
                def encode(self, *_): return b'\\xff' * 9
                def __len__(self): return 0
            for one in (Odd('x' * 1000), 'half \\ud800', None, 7, b'x', ['x']):
                try: services.count(one); request.cost_of_insert(one)
                except (TypeError, ValueError, AttributeError): pass
            return Edit(notes=['tried'])
            """,
        told="^(note tried|PLUGIN_CRASHED)",
    ),
)
