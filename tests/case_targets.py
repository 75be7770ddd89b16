"""A case brought into another format: its messages by conversion, its names by what each message says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from case_files import Case, Json, Key, copy_of, dump
from case_formats import FORMAT_OF, HEAD, WIRES
from case_reading import setup_of
from case_run import Origin
from case_setup import Setup
from case_viewers import head_views, views_of
from case_views import Atom
from trimtab.conversion import Conversion, convert

Places: TypeAlias = Mapping[Key, tuple[Key, ...]]
"""Key of a case → where what the message says stands in the converted one; nothing when it did not arrive."""

_UNCHANGED = frozenset(
    {
        "outcome",
        "must_not_raise",
        "max_tokens",
        "needs_trim",
        "idempotent",
        "report_partition",
        "no_empty_content",
        "no_lone_surrogates",
        "must_contain",
        "must_lack",
        "inserted",
        "facts",
        "targets",
        "for_each_budget",
        "for_each_strategy",
    }
)


def in_format(case: Case, codec: str) -> tuple[Case, Origin]:
    """Convert a case for a codec. Its keys become those of the messages that say the same there."""
    setup = setup_of(case)
    before = dump(setup.given)
    conversion = convert(copy_of(setup.given), to=codec, format=WIRES[case.format].codec, model=setup.model)
    form = FORMAT_OF[codec]
    head = (conversion.request or {}).get(WIRES[form].head_key)
    places = find_places(setup, conversion, form, head)
    data = {key: value for key, value in case.data.items() if key != WIRES[case.format].head_key}
    data |= {"format": form, "messages": conversion.messages}
    data["expect"] = {field: _renamed(field, value, case, places) for field, value in case.expect.items()}
    data["settings"] = _settings(case, places)
    if head is not None:
        data[WIRES[form].head_key] = head
    return Case(case.id, case.file, data), Origin(setup, before, conversion, places)


def check_conversion(origin: Origin, label: str) -> None:
    """Check that everything a case says has arrived or is named in the notes, and that its fields hold so far.

    What is left out on the way counts as reported.
    """
    setup, case = origin.setup, origin.setup.case
    assert dump(setup.given) == origin.before, f"{label}: the input was changed by the conversion"
    for key, places in origin.places.items():
        assert places or reasons_on_the_way(origin, key), f"{label}: {key} is lost without a word"
    for name in case.expect.get("must_keep", ()):
        assert origin.places[case.key(name)], f"{label}: {name} did not arrive"
    for names in case.expect.get("must_not_split", ()):
        arrived = {bool(origin.places[case.key(name)]) for name in names}
        assert len(arrived) == 1, f"{label}: {names} came apart"
    for name, allowed in case.expect.get("reasons", {}).items():
        found = reasons_on_the_way(origin, case.key(name))
        assert origin.places[case.key(name)] or found & set(allowed), f"{label}: {name} left as {found}"


def reasons_on_the_way(origin: Origin, key: Key) -> set[str]:
    """Give the codes under which the conversion names a message."""
    name = key if isinstance(key, str) else f"m{key}"
    return {note.code for note in origin.conversion.notes if name in note.ids}


def _settings(case: Case, places: Places) -> Json:
    settings = dict(case.settings)
    for name in ("pins", "excluded"):
        if name in settings:
            settings[name] = _together(settings[name], case, places)
    return settings


def find_places(setup: Setup, conversion: Conversion, form: str, head: Json) -> Places:
    """Give for each key of a setup where in the converted conversation all that the message says stands."""
    waiting: dict[Atom, list[Key]] = {}
    for at, view in enumerate(views_of(conversion.messages, form)):
        key = _own_id(conversion.messages[at]) if form == "neutral" else at
        for atom in view.atoms:
            waiting.setdefault(atom, []).append(key)
    instructions = "\n".join(word for view in head_views(head) for word in view.words)
    return {key: _arrived(atoms, waiting, instructions) for key, atoms in _said(setup)}


def _own_id(message: Json) -> Key:
    return str(message["id"])


def _said(setup: Setup) -> Iterator[tuple[Key, tuple[Atom, ...]]]:
    views = [*head_views(setup.head), *views_of(setup.messages, setup.case.format)]
    return zip(setup.keys, (view.atoms for view in views), strict=True)


def _arrived(atoms: Sequence[Atom], waiting: dict[Atom, list[Key]], instructions: str) -> tuple[Key, ...]:
    """Take the atoms of a message out of those that are waiting; nothing when one of them is not there."""
    found: list[Key] = []
    for atom in atoms:
        if waiting.get(atom):
            found.append(waiting[atom].pop(0))
        elif atom[0] == "text" and atom[1] in instructions:
            found.append(HEAD)
        else:
            return ()
    return tuple(dict.fromkeys(found))


def _renamed(field: str, value: Json, case: Case, places: Places) -> Json:
    return value if field in _UNCHANGED else _RENAMING[field](value, case, places)


def _together(names: Sequence[Json], case: Case, places: Places) -> list[Key]:
    return list(dict.fromkeys(place for name in names for place in places[case.key(name)]))


def _groups(groups: Sequence[Sequence[Json]], case: Case, places: Places) -> list[list[Key]]:
    """Of a message that became several, the calls alone belong together; they are the last of them."""
    return [
        _together(names, case, {key: _calling(key, case, at) for key, at in places.items()}) for names in groups
    ]


def _calling(key: Key, case: Case, places: tuple[Key, ...]) -> tuple[Key, ...]:
    called = {one["id"]: len(one.get("tool_calls") or ()) for one in case.messages if case.format == "neutral"}
    return places[-called[str(key)] :] if called.get(str(key)) else places


def _by_name(values: Mapping[str, Json], case: Case, places: Places) -> dict[Key, Json]:
    return {place: value for name, value in values.items() for place in places[case.key(name)]}


def _first(name: Json, case: Case, places: Places) -> Key:
    return places[case.key(name)][0]


_RENAMING: Mapping[str, Callable[[Json, Case, Places], Json]] = {
    "must_keep": _together,
    "must_exclude": _together,
    "must_exclude_or_truncate": _together,
    "excluded": _together,
    "truncated": _together,
    "order": _together,
    "must_not_split": _groups,
    "reasons": _by_name,
    "because": _by_name,
    "first_message": _first,
}
"""Field that names messages → how it is brought along. A field in neither list cannot be, and is a KeyError."""
