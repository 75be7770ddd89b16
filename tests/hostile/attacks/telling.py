"""Words for people: what steers a terminal, forges lines of a log, or floods a report."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_words = partial(Attack, family="words", defence="report")
_NAMES = "type('\\x1b[31m\\u202eEdit\\n', ({base},), {{}})"
_COMMAND = ("--config", "@work@/settings.toml", "--strategy", "attack")
_SETTINGS = {"settings.toml": "plugin_directory = '@plugins@'\ntrusted = []\n"}

ATTACKS = (
    _words(
        name="colours and a cleared screen",
        does="writes escape sequences into notes",
        body="return Edit(notes=['tried \\x1b[2J\\x1b[31mred\\x07', 'tried \\x9b31m'])",
    ),
    _words(
        name="a link behind other words",
        does="writes an OSC 8 link into a note",
        body="return Edit(notes=['tried \\x1b]8;;http://127.0.0.1/\\x1b\\\\docs\\x1b]8;;\\x1b\\\\'])",
    ),
    _words(
        name="turned and hidden text",
        does="writes bidi controls and zero-width characters into notes",
        body="return Edit(notes=['tried \\u202eecnalab\\u202c', 'a\\u200b\\u2066b\\ufeff\\U000e0041'])",
    ),
    _words(
        name="a forged line of a log",
        does="writes a note of several lines, one of them as if the host had written it",
        body="return Edit(notes=['tried\\r\\nERROR [host] the budget is 0\\u2028next\\x85line'])",
    ),
    _words(
        name="a picture in a note",
        does="writes a markdown image into a note, so that a viewer fetches it",
        body="return Edit(notes=[f\"tried ![x](http://127.0.0.1:{FACTS['port']}/\\x1b[0m)\"])",
    ),
    _words(
        name="escapes in a reason",
        does="gives a reason that steers a terminal",
        body="return Edit(drop={'m3': '\\x1b[31mtried\\x07\\u202e'})",
        told="^note left out as: .*tried",
    ),
    _words(
        name="escapes in an error",
        does="raises an exception whose text steers a terminal",
        body="raise ValueError('\\x1b]0;title\\x07 tried \\u202e' + 'x' * 100_000)",
        told="^PLUGIN_CRASHED .*tried",
    ),
    _words(
        name="escapes in the name of an error",
        does="raises an exception of a class whose name steers a terminal",
        body=f"raise {_NAMES.format(base='Exception')}('tried')",
        told="^PLUGIN_CRASHED .*tried",
    ),
    _words(
        name="escapes in the name of an answer",
        does="answers an object of a class whose name steers a terminal",
        body=f"return {_NAMES.format(base='object')}()",
        told="^PLUGIN_REJECTED",
    ),
    _words(
        name="escapes in the name of a reason",
        does="drops with a reason of a class whose name steers a terminal",
        body=f"return Edit(drop={{'m3': {_NAMES.format(base='list')}()}})",
        told="^PLUGIN_(REJECTED|CRASHED)",
    ),
    _words(
        name="a class that answers for its own name",
        does="answers an object of a class whose name takes for ever to tell",
        head="""
            class Endless(type):
                @property
                def __name__(self):
                    while True: pass
            """,
        body="return Endless('Edit', (), {})()",
        told="^PLUGIN_(REJECTED|TIMEOUT)",
        within=8.0,
    ),
    _words(
        name="escapes in the name of traits",
        does="has traits of a class whose name steers a terminal",
        source=f"""
@hookimpl
def trimtab_traits(): return {_NAMES.format(base="object")}()

@hookimpl
def trimtab_shift(request, services): return Edit(notes=['tried'])
""",
        told="^PLUGIN_LOAD_FAILED",
    ),
    _words(
        name="a printed screen",
        does="prints escape sequences and three megabytes to both outputs",
        body="""
            for end in (1, 2):
                os.write(end, b'\\x1b[2J\\x1b[31mtried ')
                for _ in range(24): os.write(end, b'x' * 65536)
            return Edit(notes=['tried'])
            """,
        trusted="lost",
    ),
    _words(
        name="fifty notes of a million characters",
        does="floods the report with long notes",
        body="return Edit(notes=['tried ' + chr(65 + at) * 100_000 for at in range(50)])",
    ),
    _words(
        name="a name for the screen",
        does="is published under a name with escape sequences",
        defence="metadata",
        entry_points="[trimtab.strategies]\nattack = attack_code\nred\x1b[31m = attack_code\n",
        body="return Edit(notes=['tried'])",
        told="row .*red.* refused its name is not made of",
    ),
    _words(
        name="escapes on the command line",
        does="sends escape sequences through notes, reasons, output and inserts to a terminal",
        play="command",
        trusted="",
        work=_SETTINGS,
        arguments=_COMMAND,
        body="""
            print('\\x1b[31mprinted\\x07')
            return Edit(drop={'m3': '\\x1b[5mblink'}, insert=[Insert('\\x1b[31m!\\x07\\u202e', AT_GAP)],
                        notes=['tried \\x1b[2J\\u202e'])
            """,
        told="tried",
    ),
    _words(
        name="an error on the command line",
        does="fails with a traceback full of escape sequences, where that ends the fit",
        play="command",
        trusted="",
        work={"settings.toml": "plugin_directory = '@plugins@'\non_violation = 'error'\n"},
        arguments=_COMMAND,
        ends=True,
        body="raise ValueError('tried \\x1b[31m\\u202e\\x07')",
        told="tried",
    ),
)
