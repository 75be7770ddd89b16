"""Write `host/trimtab/data/models.json`, the catalogue of models, from the model file of litellm.

    pip download --no-deps litellm==1.110.2 -d /tmp/litellm
    python scripts/refresh_models.py /tmp/litellm/litellm-*.whl

Chat and responses models of five providers are kept, and of them only those for which litellm gives a limit. Names
are bare ids; only those of `chatgpt` keep the prefix, since it gives other limits to ids that are OpenAI's too.

litellm's `max_input_tokens` is sometimes the room of the input alone and sometimes the whole window, and does not
say which. It is read as input room in two cases:

- OpenAI and chatgpt, when input and output together make one of the windows that OpenAI publishes: 272,000 of
  400,000, and 922,000 of 1,050,000, each with 128,000 for the output.
- Gemini before version 4, whose input and output limits are two separate ones. From version 4 on they share one
  window, which shows in an output limit as large as the input limit.

Everything else is read as the whole window: GPT-4.x, GPT-5.4, GPT-5.5, the o series, Claude, DeepSeek, Gemma. An
input room read as a window promises too little, never too much.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from trimtab.catalogue import APPROXIMATE, guess_encoding

SOURCE_FILE = "litellm/model_prices_and_context_window_backup.json"
OUTPUT = Path(__file__).parent.parent / "host" / "trimtab" / "data" / "models.json"

PROVIDERS = ("openai", "anthropic", "gemini", "deepseek", "chatgpt")
PREFIXED = "chatgpt"
MODES = ("chat", "responses")
OPENAI_WINDOWS = (400_000, 1_050_000)

ADDED = {
    "claude-fable-5-2": "claude-fable-5-1",
    "claude-mythos-5-2": "claude-mythos-5-1",
    "gemini-4-carbon": "gemini-4-argon",
    "gemini-4-neon": "gemini-4-argon",
    "gpt-6.2-astra": "gpt-6-astra",
    "gpt-6.2-sol": "gpt-6.1-sol",
}
"""Models that the vendors' own packages name and litellm does not have: name → the model whose figures they get.

That is the model before it in the same line. A row of litellm goes before one of these.
"""

Row = dict[str, str | int | None]


def main() -> None:
    """Read the arguments, write the file, say how many models it holds."""
    parser = argparse.ArgumentParser(description="Write the catalogue of models from litellm's model file.")
    parser.add_argument("source", type=Path, help="the litellm wheel, or the JSON file in it")
    parser.add_argument("--source-version", help="litellm's version; needed when the source is no wheel")
    parser.add_argument("--retrieved", default=f"{datetime.now(UTC):%Y-%m-%d}", help="default: today")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    version = arguments.source_version or _version_of_wheel(arguments.source)
    if version is None:
        parser.error("give --source-version: the name of the source does not tell it")
    rows = extract(_read(arguments.source))
    arguments.output.write_text(render(rows, version=version, retrieved=arguments.retrieved), encoding="utf-8")
    print(f"{len(rows)} models written to {arguments.output}", file=sys.stderr)


def extract(entries: dict[str, dict[str, object]]) -> list[Row]:
    """Give the rows of the catalogue, sorted by name, from the entries of litellm's file."""
    rows: dict[str, Row] = {}
    for entry_name, entry in entries.items():
        row = _row(entry_name, entry)
        if row is None:
            continue
        name = str(row["name"])
        rows[name] = _tighter(rows[name], row) if name in rows else row
    for name, sibling in ADDED.items():
        rows.setdefault(name, rows[sibling] | {"name": name})
    return [rows[name] for name in sorted(rows)]


def render(rows: list[Row], *, version: str, retrieved: str) -> str:
    """Give the text of the file: a header, then one model per line."""
    header = {
        "source": "litellm, model_prices_and_context_window_backup.json (https://github.com/BerriAI/litellm)",
        "sourceVersion": version,
        "licence": "MIT, copyright (c) 2023 Berri AI; the notice is in LICENSE-litellm",
        "retrieved": retrieved,
        "added": ADDED,
    }
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    return f'{{"header":{json.dumps(header, indent=1)},\n"models":[\n{lines}\n]}}\n'


def _read(source: Path) -> dict[str, dict[str, object]]:
    if source.suffix == ".whl":
        with zipfile.ZipFile(source) as wheel:
            text = wheel.read(SOURCE_FILE).decode()
    else:
        text = source.read_text(encoding="utf-8")
    entries: dict[str, dict[str, object]] = json.loads(text)
    return entries


def _version_of_wheel(source: Path) -> str | None:
    found = re.match(r"litellm-([^-]+)-.*\.whl$", source.name)
    return found[1] if found else None


def _row(entry_name: str, entry: dict[str, object]) -> Row | None:
    provider = entry.get("litellm_provider")
    if not isinstance(provider, str) or provider not in PROVIDERS or entry.get("mode") not in MODES:
        return None
    room = _tokens(entry.get("max_input_tokens"))
    if room is None:
        return None
    name = entry_name if provider == PREFIXED else entry_name.removeprefix(f"{provider}/")
    output = _tokens(entry.get("max_output_tokens"))
    separate = output is not None and _is_input_room(provider, name, room, output)
    return {
        "name": name,
        "provider": provider,
        "context_limit": room + (output or 0) if separate else room,
        "max_input": room if separate else None,
        "max_output": output,
        "encoding": _encoding(provider, name),
    }


def _is_input_room(provider: str, name: str, room: int, output: int) -> bool:
    if provider in ("openai", PREFIXED):
        return room + output in OPENAI_WINDOWS
    return provider == "gemini" and name.startswith("gemini-") and output < room


def _encoding(provider: str, name: str) -> str:
    if provider == "deepseek":
        return "deepseek"
    if provider in ("openai", PREFIXED):
        guess = guess_encoding(name)
        return "o200k_base" if guess == APPROXIMATE else guess
    return APPROXIMATE


def _tokens(value: object) -> int | None:
    """Give a figure as a whole number; litellm has some as floats."""
    if isinstance(value, int | float) and value > 0 and value == int(value):
        return int(value)
    return None


def _tighter(one: Row, other: Row) -> Row:
    """Of two entries for one bare id, keep the one that promises less."""
    return min(one, other, key=lambda row: int(row["max_input"] or row["context_limit"] or 0))


if __name__ == "__main__":
    main()
