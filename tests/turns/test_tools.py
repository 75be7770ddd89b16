"""A tool is an async function; what a model is told of it is read from its signature."""

from __future__ import annotations

import asyncio
import functools
import warnings
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from typing_extensions import Doc

from trimtab.turns.tool_context import ToolContext
from trimtab.turns.tool_schema import ArgumentsError
from trimtab.turns.tools import Tool, ToolBox, ToolLimits, tool
from trimtab_sdk import ConfigError
from trimtab_sdk.provider import ToolSpec

CONTEXT = ToolContext(chat_id="c1", turn_id="t1", owner="ann", call_id="1")


class Unit(Enum):
    METRE = "m"
    FOOT = "ft"


@dataclass
class Point:
    x: float
    y: float = 0.0


class Node(BaseModel):
    title: str
    children: list[Node] = []


class Opaque:
    pass


def run(made: Tool, arguments: str) -> object:
    async def call() -> object:
        return await made.run(made.arguments(arguments), CONTEXT)

    return asyncio.run(call())


async def stock(
    article: Annotated[str, Field(description="its number")],
    store: Annotated[str, Doc("where to look")] = "main",
    *,
    most: int | None = None,
) -> str:
    """Tell how many pieces
    are left.

    The second paragraph is for people.
    """
    return f"{article} {store} {most}"


def test_name_description_and_schema_come_from_the_function() -> None:
    assert Tool.of(stock).spec == ToolSpec(
        "stock",
        "Tell how many pieces are left.",
        {
            "type": "object",
            "properties": {
                "article": {"type": "string", "description": "its number"},
                "store": {"type": "string", "description": "where to look", "default": "main"},
                "most": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            },
            "required": ["article"],
            "additionalProperties": False,
        },
    )


def test_the_function_keeps_its_own_defaults() -> None:
    assert run(Tool.of(stock), '{"article": "7"}') == "7 main None"
    assert run(Tool.of(stock), '{"article": "7", "most": 3, "store": "b"}') == "7 b 3"


def test_a_default_that_json_cannot_say_is_not_in_the_schema_and_still_the_default() -> None:
    nobody: Any = object()

    async def who(name: str = nobody) -> bool:
        return name is nobody

    made = Tool.of(who)
    assert made.parameters["properties"] == {"name": {"type": "string"}}
    assert run(made, "{}") is True


def test_a_decorator_makes_a_tool_with_or_without_settings() -> None:
    @tool
    async def one() -> None:
        """Do one thing."""

    @tool(name="second-thing", description="Do another.", seconds=2)
    async def two() -> None:
        """Not told."""

    assert (one.name, one.description, one.seconds) == ("one", "Do one thing.", 60)
    assert (two.name, two.description, two.seconds) == ("second-thing", "Do another.", 2)


def test_the_host_fills_the_context_and_the_model_is_not_told_of_it() -> None:
    async def whose(thing: str, context: ToolContext) -> str:
        return f"{thing} of {context.owner} in {context.call_id}"

    made = Tool.of(whose)
    assert made.parameters["properties"] == {"thing": {"type": "string"}}
    assert run(made, '{"thing": "hat"}') == "hat of ann in 1"
    with pytest.raises(ArgumentsError, match="context: there is no such argument, only: thing"):
        made.arguments('{"thing": "hat", "context": {"owner": "bob"}}')


@pytest.mark.parametrize("kind", [ToolContext | None, Annotated[ToolContext, "filled"]])
def test_a_context_in_other_words_is_hidden_as_well(kind: object) -> None:
    async def whose(context: object) -> str:
        return context.owner  # type: ignore[attr-defined, no-any-return]

    whose.__annotations__["context"] = kind
    made = Tool.of(whose)
    assert made.parameters["properties"] == {}
    assert run(made, "{}") == "ann"


def test_types_of_all_kinds_arrive_as_what_they_are() -> None:
    async def draw(unit: Unit, at: Point, tree: Node, sizes: dict[str, tuple[int, ...]]) -> list[object]:
        return [unit, at, tree, sizes]

    tree = '{"title": "a", "children": [{"title": "b"}]}'
    arguments = f'{{"unit": "ft", "at": {{"x": 1}}, "tree": {tree}, "sizes": {{"a": [1, 2]}}}}'
    assert run(Tool.of(draw), arguments) == [
        Unit.FOOT,
        Point(1.0),
        Node(title="a", children=[Node(title="b")]),
        {"a": (1, 2)},
    ]


def test_schemas_carry_no_titles_but_properties_called_title_stay() -> None:
    async def grow(tree: Node, title: str = "title") -> None: ...

    schema = Tool.of(grow).parameters
    node = schema["$defs"]["Node"]  # type: ignore[index]
    assert schema["properties"] == {
        "tree": {"$ref": "#/$defs/Node"},
        "title": {"type": "string", "default": "title"},
    }
    assert set(node["properties"]) == {"title", "children"}
    assert "title" not in node
    assert Tool.of(grow).parameters == schema


@pytest.mark.parametrize("name", ["schema", "model_config", "self", "argument_0", "copy"])
def test_a_parameter_may_be_called_like_anything(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"async def echo(*, {name}: int): return {name}", scope)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = Tool.of(scope["echo"])
    assert run(made, f'{{"{name}": 4}}') == 4


class Shelf:
    """A shelf of books."""

    def __init__(self, books: list[str]) -> None:
        self._books = books

    async def find(self, word: str) -> list[str]:
        """Find books."""
        return [book for book in self._books if word in book]

    async def __call__(self, at: int) -> str:
        return self._books[at]


def test_methods_and_objects_can_be_tools() -> None:
    shelf = Shelf(["Emma", "Ulysses"])
    assert run(Tool.of(shelf.find), '{"word": "mm"}') == ["Emma"]
    assert Tool.of(shelf.find).description == "Find books."
    assert run(Tool.of(shelf), '{"at": 1}') == "Ulysses"
    assert Tool.of(shelf).name == "Shelf"


def test_what_the_app_has_bound_is_not_for_the_model() -> None:
    made = Tool.of(functools.partial(stock, store="north"))
    assert (made.name, list(made.parameters["properties"])) == ("stock", ["article", "most"])  # type: ignore[call-overload]
    assert run(made, '{"article": "7"}') == "7 north None"
    with pytest.raises(ArgumentsError, match="store: there is no such argument"):
        made.arguments('{"article": "7", "store": "south"}')


def test_a_model_that_writes_nothing_gives_no_arguments() -> None:
    async def now() -> str:
        return "noon"

    assert run(Tool.of(now), "") == "noon"
    assert run(Tool.of(now), " \n") == "noon"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"article": ', "they are no valid JSON: EOF while parsing a value at line 1 column 12"),
        ("[1]", "they must be one JSON object"),
        ("NaN", "they must be one JSON object"),
        ("\ud83d", "they must be one JSON object"),
        ("{}", "article: is missing"),
        ('{"article": 5}', "article: Input should be a valid string, not 5"),
        (
            '{"article": "a", "most": "many"}',
            'most: Input should be a valid integer, unable to parse string as an integer, not "many"',
        ),
        ('{"article": "a", "most": [1]}', "most: Input should be a valid integer, not a list"),
        ('{"article": "a", "size": 1}', "size: there is no such argument, only: article, store, most"),
        (
            '{"size": 1, "store": null}',
            "article: is missing; store: Input should be a valid string, not null; "
            "size: there is no such argument, only: article, store, most",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_told_one_by_one(arguments: str, said: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        Tool.of(stock).arguments(arguments)
    assert str(caught.value) == said


def test_what_is_told_of_arguments_stays_short() -> None:
    strange = ", ".join(f'"{"x" * 4000}{at}": "{"y" * 4000}"' for at in range(50))
    with pytest.raises(ArgumentsError) as caught:
        Tool.of(stock).arguments(f'{{"article": "a", {strange}}}')
    assert len(str(caught.value)) <= 2000


async def plain_args(*words: str) -> None: ...
async def plain_kwargs(**words: str) -> None: ...
async def by_position(word: str, /) -> None: ...
async def untyped(word) -> None: ...  # type: ignore[no-untyped-def]
async def with_field(word: str = Field("a")) -> None: ...
async def strange(word: Opaque) -> None: ...
async def asking_back(word: Callable[[], int]) -> None: ...
async def unfound(word: Missing) -> None: ...  # type: ignore[name-defined] # noqa: F821


def blocking(word: str) -> str:
    return word


async def yielding(word: str) -> AsyncIterator[str]:
    yield word


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (plain_args, r"write one parameter for each argument, or words: list\[str\]"),
        (plain_kwargs, r"words: dict\[str, str\]"),
        (by_position, "take the / out of its signature"),
        (untyped, "the parameter word of the tool untyped has no type; write word: str"),
        (Shelf.find, "the parameter self of the tool find has no type; give the method of an instance"),
        (with_field, r"write word: Annotated\[TYPE, Field\(…\)\] = DEFAULT"),
        (strange, "a type that JSON has no schema for; take texts, numbers"),
        (asking_back, "a type that JSON has no schema for"),
        (unfound, "'Missing' is not defined; its types must be imported at run time"),
        (blocking, r"write async def .* await asyncio.to_thread"),
        (yielding, r"write async def \(and return, not yield\)"),
        (Shelf, "the tool Shelf is a class; give an instance of it"),
        ("look", "the tool str is a str; give an async function"),
    ],
)
def test_what_cannot_be_a_tool_is_told_how_to_become_one(function: Any, advice: str) -> None:
    with pytest.raises(ConfigError, match=advice):
        Tool.of(function)


@pytest.mark.parametrize("name", ["", "two words", "a" * 65, "a.b", "über", "look\n"])
def test_a_name_that_no_wire_takes_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is no name for a tool; give name="):
        Tool.of(stock, name=name)


def test_a_plain_function_around_an_async_one_is_not_async() -> None:
    wrapped: Any = functools.wraps(stock)(lambda: None)
    with pytest.raises(ConfigError, match="write async def"):
        Tool.of(wrapped)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "5"])
def test_seconds_are_above_zero(seconds: Any) -> None:
    with pytest.raises(ConfigError, match="the seconds of the tool stock must be a number above 0"):
        Tool.of(stock, seconds=seconds)


SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 5}},
    "required": ["word"],
    "additionalProperties": False,
}


async def echo(arguments: object, context: ToolContext) -> object:
    return arguments


def test_a_tool_with_a_schema_of_its_own_gets_what_the_schema_allows() -> None:
    made = Tool(name="echo", parameters=SCHEMA, run=echo)
    assert run(made, '{"word": "hat"}') == {"word": "hat"}
    for wrong, said in [
        ('{"word": "umbrella"}', "word: 'umbrella' is too long"),
        ('{"word": "a", "size": 1}', "Additional properties are not allowed"),
        ("{}", "'word' is a required property"),
        ("[]", "they must be one JSON object"),
        ('{"word": NaN}', "they are no valid JSON"),
    ]:
        with pytest.raises(ArgumentsError, match=said):
            made.arguments(wrong)


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"type": "object", "properties": 5}, 7])
def test_a_schema_that_is_none_is_refused(schema: Any) -> None:
    with pytest.raises(ConfigError, match="the parameters of the tool echo"):
        Tool(name="echo", parameters=schema, run=echo)


def test_a_schema_never_fetches_what_it_refers_to() -> None:
    made = Tool(
        name="echo",
        parameters={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
        run=echo,
    )
    with pytest.raises(Exception, match="Unresolvable"):
        made.arguments('{"a": 1}')


def test_a_box_holds_tools_by_name_sorted() -> None:
    box = ToolBox([stock, Tool(name="echo", run=echo)])
    assert [spec.name for spec in box.specs] == ["echo", "stock"] == [one.name for one in box]
    assert (len(box), "stock" in box, "hat" in box, box.get("hat")) == (2, True, False, None)
    found = box.get("stock")
    assert found is not None
    assert found.description.startswith("Tell")
    assert box.only(["stock"]).names == ("stock",)
    assert box.chosen(["stock"]) == (found.spec,)
    with pytest.raises(ConfigError, match="there is no tool 'hat'; there are: echo, stock"):
        box.chosen(["hat"])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="more than one tool with the name stock"):
        ToolBox([stock, Tool(name="stock", run=echo)])


@pytest.mark.parametrize(
    "limits", [{"parallel": 0}, {"output_bytes": 1.5}, {"seconds": 0}, {"grace_seconds": -1}, {"parallel": True}]
)
def test_limits_that_cannot_be_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        ToolLimits(**limits)
