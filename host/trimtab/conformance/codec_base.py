"""What all rules for codecs stand on: the codec, its inputs, and the codec that reads what it writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, cast

import pytest

from trimtab.conformance.codec_inputs import Wire, installed_codec, wires_of
from trimtab.conformance.driver_base import DriverContract, outcome_of
from trimtab.conversion import written_by
from trimtab_sdk.codec import Codec, Decoded


class CodecRules(DriverContract):
    """The base of the rules for codecs: claims, fixtures, and ways to judge."""

    abilities = ("reads_only",)
    parts: ClassVar[dict[str, str]] = {
        "name": "name",
        "system_anywhere": "flag",
        "binds_reasoning": "flag",
        "user_first": "flag",
        "recognize": "method",
        "decode": "method",
        "splice": "method",
        "adapt": "method",
        "encode": "method",
        "framing": "method",
    }

    reads_only: bool = False
    samples: Sequence[object] = ()
    others: Sequence[object] = ()
    broken: Sequence[object] = ()

    @pytest.fixture
    def codec(self, made: object) -> Codec:
        """The subject, once it has all its parts."""
        self.whole(made)
        return cast("Codec", made)

    @pytest.fixture
    def wires(self, codec: Codec) -> list[Wire]:
        """Inputs of the format: the author's samples, then the corpus as the codec writes it."""
        got = outcome_of(lambda: list(wires_of(codec, self.samples)))
        if got.error is not None:
            self.not_judged("the corpus cannot be written; mend test_writes_what_was_said first")
        wires = cast("list[Wire]", got.value)
        if not wires:
            self.not_judged("there is nothing to read; give `samples` of the format")
        return wires

    @pytest.fixture
    def read(self, codec: Codec, wires: list[Wire]) -> list[tuple[Wire, Decoded]]:
        """The inputs, each with what the codec reads in it."""
        got = [(wire, outcome_of(codec.decode, wire.fresh())) for wire in wires]
        if any(type(one.value) is not Decoded for _, one in got):
            self.not_judged("an input cannot be read; mend test_reads_a_conversation first")
        return [(wire, cast("Decoded", one.value)) for wire, one in got]

    @pytest.fixture
    def writer(self, codec: Codec) -> Codec:
        """The codec of the format that is written: the subject, unless it only reads."""
        return codec if written_by(codec) == codec.name else installed_codec(written_by(codec))

    def need_writing(self) -> None:
        """End the running test when the codec only reads: what it gives is another codec's format."""
        if self.reads_only:
            pytest.skip("not claimed: writing its own format")


def of(wire: Wire, faults: Iterable[str]) -> Iterator[str]:
    """Say of each fault in which input it was found."""
    return (f"{wire.name}: {fault}" for fault in faults)
