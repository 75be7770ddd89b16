"""Metadata that lie about who published what, and files that want to run before anybody asks."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_INFO = "trimtab_attack-1.0.dist-info"
_PLANTED = "trimtab_planted-2.0.dist-info"
_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n"
_MARKS = """
try: open(f"{FACTS['canary']}/imported", 'w').close()
except OSError: pass
"""
_TOUCH = "import os; os.system('touch @canary@/started')\n"
_lie = partial(
    Attack,
    family="metadata",
    defence="metadata",
    head=_MARKS,
    body="return Edit(notes=['tried'])",
    told="row attack .* refused ",
)

ATTACKS = (
    _lie(
        name="a second distribution in its baggage",
        does="brings the metadata of a distribution that nobody installed",
        files={
            f"{_PLANTED}/METADATA": _METADATA.format(name="trimtab-planted", version="2.0"),
            f"{_PLANTED}/entry_points.txt": "[trimtab.strategies]\nplanted = attack_code\n",
            f"{_PLANTED}/RECORD": f"attack_code.py,,\n{_PLANTED}/RECORD,,\n",
        },
        told="row planted .* refused ",
    ),
    _lie(
        name="a module of Python",
        does="publishes json as its plugin",
        entry_points="[trimtab.strategies]\nattack = json\n",
    ),
    _lie(
        name="a module of somebody else",
        does="publishes the module of its neighbour",
        entry_points="[trimtab.strategies]\nattack = honest_code\n",
    ),
    _lie(name="a module nobody installed", does="publishes a module that its RECORD does not list", record=""),
    _lie(
        name="files in Trimtab's packages",
        does="lists files in the host's own packages as its own",
        listed=("trimtab/fitting/guard.py", "trimtab_sdk/__init__.py"),
    ),
    _lie(
        name="the name of a neighbour",
        does="says in its METADATA that it is somebody else",
        metadata=_METADATA.format(name="trimtab-honest", version="1.0"),
        config={"trusted": ["trimtab-honest"]},
    ),
    _lie(
        name="two names",
        does="has two names in its METADATA",
        metadata="Metadata-Version: 2.1\nName: trimtab-attack\nName: trimtab-honest\nVersion: 1.0\n\n",
    ),
    _lie(
        name="a look-alike name",
        does="has a name with a Cyrillic letter",
        metadata=_METADATA.format(name="trimtab-\u0430ttack", version="1.0"),
    ),
    _lie(
        name="a version that changes",
        does="has another version inside than outside, to get into a trusted range",
        metadata=_METADATA.format(name="trimtab-attack", version="2.0"),
        config={"trusted": ["trimtab-attack>=2"]},
    ),
    _lie(
        name="control characters in metadata",
        does="has a name that steers a terminal",
        metadata=_METADATA.format(name="trimtab-attack\x1b[31m", version="1.0"),
    ),
    _lie(
        name="Trimtab itself",
        does="calls itself trimtab",
        files={
            "trimtab-9.9.dist-info/METADATA": _METADATA.format(name="trimtab", version="9.9"),
            "trimtab-9.9.dist-info/entry_points.txt": "[trimtab.strategies]\ntruncate = attack_code\n",
            "trimtab-9.9.dist-info/RECORD": "attack_code.py,,\ntrimtab-9.9.dist-info/RECORD,,\n",
        },
        options={"strategy": "truncate"},
        told="row trimtab .* refused ",
    ),
    _lie(
        name="truncate replaced",
        does="publishes a strategy under the name of the built-in that answers when others fail",
        entry_points="[trimtab.strategies]\ntruncate = attack_code\n",
        options={"strategy": "truncate"},
        body="return Edit(drop={'m18': 'context-shift'})",
        told="row truncate .* refused 'truncate' is the name of a built-in",
    ),
    _lie(
        name="code in place of a module",
        does="has an entry whose value is no module but a command",
        entry_points="[trimtab.strategies]\nattack = os;system('touch /tmp/x')\n",
    ),
    _lie(
        name="one name, two objects",
        does="gives one name to two objects, a harmless one first",
        entry_points="[trimtab.strategies]\nattack = attack_code\nattack = attack_code:other\n",
    ),
    _lie(
        name="an unknown kind",
        does="publishes into a group that nobody knows",
        entry_points="[trimtab.strategies ]\nattack = attack_code\n[Trimtab.Strategies]\nattack = attack_code\n",
        told="row .* refused ",
        options={"strategy": "truncate"},
    ),
    _lie(
        name="a device in place of a file",
        does="has entry points that never end",
        files={f"{_INFO}/entry_points.txt": "-> /dev/zero"},
        options={"strategy": "truncate"},
        told="row .*refused .*entry_points.txt",
    ),
    _lie(
        name="a pipe in place of a file",
        does="has METADATA that nobody ever writes into",
        files={f"{_INFO}/METADATA": "| "},
    ),
    _lie(
        name="five hundred kilobytes of entry points",
        does="has more entry points than anybody could read",
        entry_points="[trimtab.strategies]\n" + "".join(f"attack-{at} = attack_code\n" for at in range(20_000)),
        options={"strategy": "truncate"},
        told="row .*refused .*entry_points.txt",
    ),
    _lie(
        name="a source tree in the home folder",
        does="says that it is an editable install of the user's home folder",
        files={
            f"{_INFO}/direct_url.json": '{"url": "file://@home@", "dir_info": {"editable": true}}',
            "../../home/attack_code.py": "raise SystemExit('imported')\n",
        },
        record=f"{_INFO}/RECORD,,\n",
    ),
    _lie(
        name="a copy of itself",
        does="is there twice, in two folders",
        files={
            f"../another/{_INFO}/METADATA": _METADATA.format(name="trimtab-attack", version="1.0"),
            f"../another/{_INFO}/entry_points.txt": "[trimtab.strategies]\nagain = attack_code\n",
            f"../another/{_INFO}/RECORD": f"{_INFO}/RECORD,,\n",
        },
        trusted="",
    ),
    _lie(
        name="made for another host",
        does="needs a Trimtab that is not this one",
        metadata="Metadata-Version: 2.1\nName: trimtab-attack\nVersion: 1.0\nRequires-Dist: trimtab>=99\n\n",
    ),
    _lie(
        name="trusted where nothing can be",
        does="stands in the plugin directory and is named in the list of the trusted",
        config={"trusted": ["trimtab-attack"]},
        trusted="",
        told="row attack confined ready .*nothing in a plugin directory can be trusted",
    ),
    _lie(
        name="a driver in the plugin directory",
        does="publishes a codec, which would have to run in the host's process",
        kind="codec",
        config={"trusted": ["trimtab-attack"]},
        trusted="",
        told="row attack needs-trust refused nothing in a plugin directory can be trusted",
    ),
    _lie(
        name="code that is somewhere else",
        does="has a link to code outside of its folder as its module",
        files={"attack_code.py": "-> @home@/code.py", "../../home/code.py": _TOUCH},
        trusted="",
        told="^PLUGIN_LOAD_FAILED|row attack .* refused ",
    ),
    _lie(
        name="a .pth file",
        does="brings a .pth file, which Python would run in every start",
        files={"attack.pth": _TOUCH},
        told="^note tried",
        trusted="",
    ),
    _lie(
        name="sitecustomize",
        does="brings modules that Python imports in every start",
        files={"sitecustomize.py": _TOUCH, "usercustomize.py": _TOUCH},
        told="^note tried",
        trusted="lost",
        anew=True,
    ),
    _lie(
        name="a standard library of its own",
        does="brings modules with the names of those that Python and the worker use",
        files={
            **{f"{name}.py": _TOUCH for name in ("json", "struct", "traceback", "ctypes", "pluggy", "socket")},
            "trimtab_worker/__init__.py": "",
        },
        body="import json, struct, traceback, socket, pluggy\nreturn Edit(notes=['tried'])",
        told="row attack .* refused .*Trimtab's own packages|^note tried",
        trusted="",
    ),
    _lie(
        name="a shadow of the standard library",
        does="brings modules with the names of those that Python uses",
        files={f"{name}.py": _TOUCH for name in ("colorsys", "struct", "traceback", "ctypes", "pluggy", "socket")},
        body="import colorsys, struct, traceback, socket, pluggy\nreturn Edit(notes=['tried'])",
        told="^note tried",
        trusted="lost",
        anew=True,
    ),
)
