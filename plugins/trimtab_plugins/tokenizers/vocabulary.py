"""OpenAI's vocabularies as tiktoken keeps them on disk, and a counter over one of them.

tiktoken downloads a vocabulary that it misses and replaces a file with a wrong checksum by a new download. So
nothing here asks tiktoken for a vocabulary by name: the file is found, checked and read here, and tiktoken is
given what it holds.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

# tiktoken's regular expression engine remembers every character of `\s+(?!\S)` that it may have to give back and
# panics at a million of them. A bound, which no ordinary text reaches, cuts what is longer; it is a multiple of
# the longest token of blanks (128), so that a cut between equal blanks costs no token.
LONGEST_BLANK = 524_288
_BLANK = rf"\s{{1,{LONGEST_BLANK}}}(?!\S)"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A published vocabulary: where tiktoken gets it, the SHA-256 of the file, and how text is cut before it.

    Sources and checksums are those of `tiktoken_ext.openai_public`; the patterns too, but for the bound on
    blanks.
    """

    name: str
    url: str
    sha256: str
    pattern: str

    @property
    def file_name(self) -> str:
        """The name of the file in tiktoken's cache."""
        return hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()


O200K_BASE = Vocabulary(
    name="o200k_base",
    url="https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    pattern="|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            _BLANK,
            r"\s+",
        ]
    ),
)
CL100K_BASE = Vocabulary(
    name="cl100k_base",
    url="https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    pattern="|".join(
        [
            r"'(?i:[sdmt]|ll|ve|re)",
            r"[^\r\n\p{L}\p{N}]?+\p{L}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            _BLANK,
            r"\s",
        ]
    ),
)


def content_on_disk(vocabulary: Vocabulary) -> bytes | None:
    """Give the vocabulary from tiktoken's cache; None when it is not there or has another checksum."""
    folder = _cache_folder()
    if folder is None:
        return None
    try:
        content = (folder / vocabulary.file_name).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == vocabulary.sha256 else None


def counter(vocabulary: Vocabulary, content: bytes) -> Callable[[str], int]:
    """Give what counts a text with tiktoken, from the content of the vocabulary's file."""
    lines = (line.split() for line in content.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken_counter(vocabulary.name, vocabulary.pattern, ranks)


def tiktoken_counter(name: str, pattern: str, ranks: Mapping[bytes, int]) -> Callable[[str], int]:
    """Give what counts a text with tiktoken's engine: cut by `pattern`, merged by `ranks`, nothing special."""
    from tiktoken import Encoding

    encoding = Encoding(name, pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def _cache_folder() -> Path | None:
    """The folder tiktoken would look in; None when its cache is switched off by an empty name."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        named = os.environ.get(variable)
        if named is not None:
            return Path(named) if named else None
    return Path(tempfile.gettempdir(), "data-gym-cache")
