"""From the nodes of a ChatGPT conversation to messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.chatgpt_export_tree import Node
from trimtab_plugins.codecs.reading import (
    MISSING,
    JsonObject,
    is_blank,
    list_if_any,
    object_in,
    read_object,
    read_text,
    shown,
    text_if_any,
    wrong,
)
from trimtab_sdk import Message, Part, Reasoning, Role, Source, Text

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "assistant"}
_EVERYBODY = ("", "all")
_INSTRUCTIONS = "user_editable_context"
_SCREEN_ONLY = frozenset({"reasoning_recap"})
_TEXT_KEYS: Mapping[str, tuple[str, ...]] = {
    "code": ("text",),
    "execution_output": ("text",),
    "system_error": ("name", "text"),
    "tether_browsing_display": ("summary", "result"),
    "tether_quote": ("title", "url", "text"),
    "sonic_webpage": ("title", "url", "text"),
    _INSTRUCTIONS: ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context",),
}
_ASSETS = ("image", "audio", "video")


@dataclass(slots=True)
class Nodes:
    """Messages, how many nodes of which kind were passed over, and how many things the export only points to."""

    messages: list[Message] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    pointers: Counter[str] = field(default_factory=Counter)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentence that says what the export does not hold."""
        if not self.pointers:
            return ()
        kinds = ", ".join(f"{many} {kind}" for kind, many in sorted(self.pointers.items()))
        return (f"not in the export, so a text says that it was left out: {kinds}",)


def read_nodes(nodes: Sequence[Node]) -> Nodes:
    """Read the nodes of one way. Raises InvalidRequestError with the path of what is wrong."""
    read = Nodes()
    for node in nodes:
        _read_node(node, read)
    return read


def _read_node(node: Node, read: Nodes) -> None:
    author = object_in(node.message, "author", node.path)
    speaker = author.get("role", MISSING)
    role = _ROLES.get(speaker) if isinstance(speaker, str) else None
    if role is None or not isinstance(speaker, str):
        raise wrong(f"{node.path}.author.role", "one of system, user, assistant, tool", speaker)
    content = object_in(node.message, "content", node.path)
    kind = text_if_any(content, "content_type", f"{node.path}.content")
    hidden = _why_hidden(node, role, kind)
    if hidden:
        read.counts[hidden] += 1
        return
    parts = _labelled(node, author, speaker, list(_read_content(content, kind, f"{node.path}.content", read)))
    if not parts:
        read.counts["nodes without words"] += 1
        return
    own: Role = "system" if kind == _INSTRUCTIONS else role
    source: Source = "system" if own == "system" else "history"
    read.messages.append(Message(node.id, own, tuple(parts), source=source))


def _why_hidden(node: Node, role: Role, kind: str) -> str:
    metadata = node.message.get("metadata")
    if kind in _SCREEN_ONLY:
        return "nodes for the screen alone"
    if node.message.get("weight") == 0:
        return "nodes without weight"
    unseen = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True
    return "hidden system nodes" if unseen and role == "system" else ""


def _labelled(node: Node, author: JsonObject, speaker: str, parts: list[Part]) -> list[Part]:
    """Say in the first text who called whom, for a tool's words stand among the assistant's."""
    recipient = text_if_any(node.message, "recipient", node.path)
    if speaker == "tool":
        name = text_if_any(author, "name", f"{node.path}.author")
        label = f"[result of {shown(name)}]" if name else "[result of a tool]"
    elif speaker == "assistant" and recipient not in _EVERYBODY:
        label = f"[call of {shown(recipient)}]"
    else:
        return parts
    for at, part in enumerate(parts):
        if isinstance(part, Text):
            return [*parts[:at], Text(f"{label}\n{part.text}"), *parts[at + 1 :]]
    return parts


def _read_content(content: JsonObject, kind: str, path: str, read: Nodes) -> Iterator[Part]:
    if kind == "thoughts":
        yield from _read_thoughts(content, path)
        return
    texts = [text_if_any(content, key, path) for key in _TEXT_KEYS.get(kind, ())]
    words = [text for text in texts if not is_blank(text)]
    if words:
        yield Text("\n".join(words))
    for at, part in enumerate(list_if_any(content, "parts", path)):
        text = _read_part(part, f"{path}.parts[{at}]", read)
        if not is_blank(text):
            yield Text(text)
    if kind not in _TEXT_KEYS and "parts" not in content:
        yield _unknown_kind(content, kind, path, read)


def _unknown_kind(content: JsonObject, kind: str, path: str, read: Nodes) -> Text:
    text = content.get("text")
    if isinstance(text, str) and not is_blank(text):
        return Text(text)
    name = shown(kind) if kind else "content"
    read.pointers[name] += 1
    return Text(f"[{name} left out]")


def _read_part(part: object, path: str, read: Nodes) -> str:
    if part is None:
        return ""
    if isinstance(part, str):
        return part
    inner = read_object(part, path)
    kind = text_if_any(inner, "content_type", path)
    if isinstance(inner.get("text"), str):
        return read_text(inner["text"], f"{path}.text")
    name = next((word for word in _ASSETS if word in kind), "part")
    read.pointers[name] += 1
    return f"[{name} left out]"


def _read_thoughts(content: JsonObject, path: str) -> Iterator[Reasoning]:
    for at, value in enumerate(list_if_any(content, "thoughts", path)):
        inner = f"{path}.thoughts[{at}]"
        thought = read_object(value, inner)
        texts = [text_if_any(thought, key, inner) for key in ("summary", "content")]
        words = "\n".join(text for text in texts if not is_blank(text))
        if words:
            yield Reasoning(words)
