"""Stand-in until the driver lands (overwrite this file)."""

from __future__ import annotations


class _Bpe:
    profile = ""
    version = "0"
    approximate = False

    def __init__(self) -> None:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from bpe_openai import _bindings

        self._count = _bindings.tokenizer_for_encoding(self.profile).count

    def count(self, text: str) -> int:
        """Count."""
        return int(self._count(text))


class O200kBase(_Bpe):
    """o200k."""

    profile = "o200k_base"


class Cl100kBase(_Bpe):
    """cl100k."""

    profile = "cl100k_base"
