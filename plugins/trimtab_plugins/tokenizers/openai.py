"""The vocabularies of OpenAI's models, counted exactly and without the network.

Two engines give the same counts: `bpe-openai` (extra `exact`), which brings the vocabularies and takes any
text in linear time, and tiktoken where a vocabulary that it once downloaded is on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from trimtab_plugins.tokenizers import bindings, vocabulary
from trimtab_plugins.tokenizers.encodable import encodable
from trimtab_plugins.tokenizers.vocabulary import Vocabulary
from trimtab_sdk import TokenizerUnavailableError


class _Published:
    """A published vocabulary, loaded when the driver is made."""

    approximate = False
    vocabulary: ClassVar[Vocabulary]

    def __init__(self) -> None:
        engine, self._count = _engine(self.vocabulary)
        self.profile = self.vocabulary.name
        self.version = f"{engine}/{self.vocabulary.sha256[:12]}"

    def count(self, text: str) -> int:
        """Give the length of tiktoken's `encode_ordinary(text)`: no text is a special token.

        Takes time linear in the text. With tiktoken as the engine, a stretch of more than 524,288 blanks is
        counted in blocks of that size, which may change the count by a few tokens in each block.
        """
        return self._count(encodable(text))


class O200kBase(_Published):
    """The vocabulary of GPT-4o and everything after it, `o200k_base`."""

    vocabulary = vocabulary.O200K_BASE


class Cl100kBase(_Published):
    """The vocabulary of GPT-4 and GPT-3.5, `cl100k_base`."""

    vocabulary = vocabulary.CL100K_BASE


def _engine(vocabulary: Vocabulary) -> tuple[str, Callable[[str], int]]:
    """Give the name of the best engine there is, and its counter."""
    counter = bindings.counter(vocabulary.name)
    if counter is not None:
        return f"bpe-openai-{bindings.VERSION}", counter
    return _with_tiktoken(vocabulary)


def _with_tiktoken(wanted: Vocabulary) -> tuple[str, Callable[[str], int]]:
    content = vocabulary.content_on_disk(wanted)
    if content is None:
        raise TokenizerUnavailableError(
            f"no vocabulary {wanted.name} on this machine; for exact counts, pip install 'trimtab[exact]', or put"
            f" tiktoken's vocabulary into the folder that TIKTOKEN_CACHE_DIR names, as the file {wanted.file_name}"
        )
    from importlib_metadata import version

    return f"tiktoken-{version('tiktoken')}", vocabulary.counter(wanted, content)
