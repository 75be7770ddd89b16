"""Tools: async functions of the host app that a model may call.

    @tool
    async def stock(article: Annotated[str, Field(description="its number")], store: str = "main") -> int:
        \"\"\"Tell how many pieces of an article are left.\"\"\"

What the model is told of it, its JSON schema, is read from the signature and the docstring.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, overload

from trimtab.turns.tool_context import ToolContext as ToolContext
from trimtab.turns.tool_schema import AsyncFunction, ReadArguments, read_signature, schema_reader, unwrapped
from trimtab_sdk.errors import ConfigError
from trimtab_sdk.provider import ToolSpec

SECONDS = 60.0
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

RunTool: TypeAlias = Callable[[Mapping[str, object], ToolContext], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the host runs.

    - `name` is what the model calls it: 1 to 64 of `a-z A-Z 0-9 _ -`.
    - `parameters` is the JSON schema of its arguments, an object.
    - `run` gets the arguments and the context of the call, and gives what the model is told.
    - `seconds` is how long a call may take.
    - `reader` reads the arguments; without one they are checked against `parameters` and taken as they are.

    Raises ConfigError for what cannot be.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, object] = field(
        default_factory=lambda: {"type": "object", "properties": {}, "additionalProperties": False}, hash=False
    )
    run: RunTool
    seconds: float = SECONDS
    reader: ReadArguments | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_seconds(self.seconds, self.name)
        _check_async(self.run, self.name)
        if self.reader is None:
            object.__setattr__(self, "reader", schema_reader(self.parameters, tool=self.name))

    @classmethod
    def of(
        cls,
        function: AsyncFunction,
        *,
        name: str | None = None,
        description: str | None = None,
        seconds: float = SECONDS,
    ) -> Tool:
        """Make a tool of an async function, of a method, or of an object whose `__call__` is async.

        Name and description are those of the function, the description being the first paragraph of its
        docstring. Arguments are read as pydantic reads JSON: "5" will do for an int, "five" will not.
        """
        name = _name_of(function) if name is None else name
        _check_name(name)
        _check_async(function, name)
        signature = read_signature(function, tool=name)
        return cls(
            name=name,
            description=_first_paragraph(function) if description is None else description,
            parameters=signature.parameters,
            run=_runner(function, signature.context),
            seconds=seconds,
            reader=signature.read,
        )

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters)

    def arguments(self, text: str) -> Mapping[str, object]:
        """Read the arguments that a model wrote. Raises ArgumentsError when they are not what the tool takes."""
        reader = self.reader or schema_reader(self.parameters, tool=self.name)
        return reader(text)


@overload
def tool(function: AsyncFunction) -> Tool: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, seconds: float = SECONDS
) -> Callable[[AsyncFunction], Tool]: ...


def tool(
    function: AsyncFunction | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    seconds: float = SECONDS,
) -> Tool | Callable[[AsyncFunction], Tool]:
    """Make a tool of the function below: `Tool.of` as a decorator, with or without arguments."""
    make = functools.partial(Tool.of, name=name, description=description, seconds=seconds)
    return make if function is None else make(function)


class ToolBox:
    """Tools by name. Plain async functions are made into tools.

    Raises ConfigError when two have the same name.
    """

    def __init__(self, tools: Iterable[Tool | AsyncFunction] = ()) -> None:
        made = [one if isinstance(one, Tool) else Tool.of(one) for one in tools]
        self._tools = {one.name: one for one in sorted(made, key=lambda one: one.name)}
        if len(self._tools) < len(made):
            names = [one.name for one in made]
            twice = ", ".join(name for name in self._tools if names.count(name) > 1)
            raise ConfigError(f"there is more than one tool with the name {twice}; give one of them name=…")

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, sorted."""
        return tuple(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is told of all tools, sorted by name."""
        return tuple(one.spec for one in self)

    def get(self, name: str) -> Tool | None:
        """Give the tool with a name, None when there is none."""
        return self._tools.get(name)

    def only(self, names: Iterable[str]) -> ToolBox:
        """Give a box of some of the tools. Raises ConfigError for a name of nobody."""
        wanted = set(names)
        unknown = sorted(wanted - set(self._tools))
        if unknown:
            known = ", ".join(self._tools) or "none"
            raise ConfigError(f"there is no tool {unknown[0]!r}; there are: {known}")
        return ToolBox(one for one in self if one.name in wanted)

    def chosen(self, names: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Give what a model is told of some of the tools, sorted by name. Raises ConfigError likewise."""
        return self.only(names).specs


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """What the calls of one step may use.

    - `parallel`: how many tools run at once; the others wait, and their time has not begun.
    - `output_bytes`: the size of an answer in UTF-8.
    - `seconds`: how long a call may take at most, whatever its tool allows; None leaves it to the tool.
    - `grace_seconds`: how long a tool may take to end once it is told to.
    """

    parallel: int = 16
    output_bytes: int = 8 * 1024 * 1024
    seconds: float | None = None
    grace_seconds: float = 1.0

    def __post_init__(self) -> None:
        for name in ("parallel", "output_bytes"):
            value: object = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} must be a whole number from 1, not {value!r}")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ConfigError(f"seconds must be above 0, or None, not {self.seconds!r}")
        if not 0 <= self.grace_seconds < math.inf:
            raise ConfigError(f"grace_seconds must be 0 or more, not {self.grace_seconds!r}")


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"{str(name)[:80]!r} is no name for a tool; give name=… with 1 to 64 of a-z, A-Z, 0-9, _ and -"
        )


def _check_seconds(seconds: float, name: str) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ConfigError(f"the seconds of the tool {name} must be a number above 0, not {seconds!r}")


def _check_async(function: object, name: str) -> None:
    if isinstance(function, type):
        raise ConfigError(f"the tool {name} is a class; give an instance of it")
    if not callable(function):
        raise ConfigError(f"the tool {name} is a {type(function).__name__}; give an async function")
    if not inspect.iscoroutinefunction(function) and not inspect.iscoroutinefunction(type(function).__call__):
        raise ConfigError(
            f"the tool {name} is no async function; write async def (and return, not yield), and call what blocks "
            "through await asyncio.to_thread(…)"
        )


def _name_of(function: AsyncFunction) -> str:
    function = unwrapped(function)
    return str(getattr(function, "__name__", type(function).__name__))


def _first_paragraph(function: AsyncFunction) -> str:
    words = inspect.getdoc(unwrapped(function)) or ""
    return " ".join(re.split(r"\n\s*\n", words.strip())[0].split())


def _runner(function: AsyncFunction, context_name: str) -> RunTool:
    async def run(arguments: Mapping[str, object], context: ToolContext) -> object:
        if context_name:
            return await function(**arguments, **{context_name: context})
        return await function(**arguments)

    return run
