"""The contract of a codec: a driver that reads and writes one wire format."""

from __future__ import annotations

from trimtab.conformance.codec_costs import FramingRules
from trimtab.conformance.codec_reading import ReadingRules
from trimtab.conformance.codec_writing import WritingRules


class CodecContract(ReadingRules, WritingRules, FramingRules):
    """What a host relies on in a codec.

        class TestMyCodec(CodecContract):
            samples = [[{"role": "user", "content": "hi"}], {"messages": [], "temperature": 0.2}]

            @pytest.fixture
            def subject(self):
                return MyCodec()

    What you may give, as class attributes:

    - `samples`: inputs of your format that its server takes: lists of messages, and bodies. The more kinds of
      parts they hold, the more is tried. The kit's own conversations, as your codec writes them, come besides.
    - `others`: inputs of other formats, that yours must not take for its own.
    - `broken`: inputs that must be refused.
    - `reads_only`: a claim, no by default: it reads a transcript and writes the format that it names in `writes`.
    - `examples`: how many generated inputs each rule is tried on.

    A provider's wire says more than a protocol can: test with its official types beside this contract.
    """
