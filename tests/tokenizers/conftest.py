from __future__ import annotations

import gzip
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from trimtab_plugins.tokenizers import bindings
from trimtab_plugins.tokenizers.vocabulary import CL100K_BASE, O200K_BASE


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as tiktoken fills it, from the vocabularies that bpe-openai ships."""
    folder = tmp_path_factory.mktemp("vocabularies")
    spec = find_spec("bpe_openai")
    assert spec is not None
    assert spec.origin is not None
    for vocabulary in (O200K_BASE, CL100K_BASE):
        packed = Path(spec.origin).parent / "data" / f"{vocabulary.name}.tiktoken.gz"
        (folder / vocabulary.file_name).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder


@pytest.fixture
def without_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another version of bpe-openai were installed."""
    monkeypatch.setattr(bindings, "VERSION", "0.0.0")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket opened by anyone is a failure."""

    def refuse(*args: object, **options: object) -> NoReturn:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
