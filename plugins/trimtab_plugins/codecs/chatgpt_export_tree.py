"""The tree of a ChatGPT conversation, and the way through it that was on the screen last."""

from __future__ import annotations

from typing import NamedTuple

from trimtab_plugins.codecs.reading import MISSING, JsonObject, object_in, read_object, read_text, shown, wrong
from trimtab_sdk import InvalidRequestError


class Node(NamedTuple):
    """A node with a message: its id, and where it stands."""

    id: str
    message: JsonObject
    path: str


def read_way(conversation: JsonObject) -> list[Node]:
    """Give the nodes with a message from the root to `current_node`.

    Raises InvalidRequestError when the links go in a circle, or lead to a node that is not there.
    """
    nodes = read_object(conversation.get("mapping", MISSING), "mapping")
    place = "current_node"
    name = read_text(conversation.get(place, MISSING), place)
    way: list[Node] = []
    passed: set[str] = set()
    while True:
        if name in passed:
            raise InvalidRequestError(
                f"{place} leads in a circle; the parent of the first node is null", path=place
            )
        if name not in nodes:
            raise _missing(place, name)
        passed.add(name)
        path = f"mapping.{shown(name)}"
        node = read_object(nodes[name], path)
        if node.get("message") is not None:
            way.append(Node(name, object_in(node, "message", path), f"{path}.message"))
        parent, place = node.get("parent"), f"{path}.parent"
        if parent is None:
            return way[::-1]
        if not isinstance(parent, str):
            raise wrong(place, "the id of a node, or null", parent)
        name = parent


def _missing(place: str, name: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{place} names the node {shown(name)}, which is not in the mapping; give the whole conversation",
        path=place,
    )
