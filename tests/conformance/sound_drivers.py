"""The contracts of drivers that keep every rule, collected by the pytest of a child process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from conformance.broken_drivers import SEALED, Vectors
from conformance.broken_providers import STREAMS, Keeper, Talker
from conformance.sound_streams import INTERACTIONS_STREAMS, RESPONSES_STREAMS
from trimtab.conformance import CodecContract, EmbedderContract, ProviderContract, TokenizerContract
from trimtab.conformance.own_claims import OWN_CLAIMS
from trimtab.fitting.approximate import ApproximateV1
from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.chatgpt_export import ChatGPTExport
from trimtab_plugins.codecs.claude_code import ClaudeCode
from trimtab_plugins.codecs.gemini_contents import GeminiContents
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_plugins.codecs.sharegpt import ShareGPT
from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_plugins.providers.chatgpt import ChatGPT
from trimtab_plugins.providers.deepseek import DeepSeek as DeepSeekProvider
from trimtab_plugins.providers.dry_run import DryRun
from trimtab_plugins.providers.gemini import Gemini
from trimtab_plugins.providers.openai import OpenAI
from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_plugins.tokenizers.deepseek import DeepSeek
from trimtab_plugins.tokenizers.openai import Cl100kBase, O200kBase

FILES = Path(__file__).parents[1] / "codecs"


def files(pattern: str) -> list[object]:
    """The files with inputs of a format."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(FILES.glob(pattern))]


class TestAnthropicMessages(CodecContract):
    samples: Sequence[object] = files("anthropic_files/*.json")

    @pytest.fixture
    def subject(self) -> object:
        return AnthropicMessages


class TestChatCompletions(CodecContract):
    samples: Sequence[object] = [
        *files("chat_files/*.json"),
        [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "Good morning.",
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2VhbGVk"}],
            },
            {"role": "user", "content": "and now?"},
        ],
    ]
    others: Sequence[object] = ([{"parts": [{"text": "hi"}]}], {"contents": []})
    broken: Sequence[object] = ([{"role": "user"}, 7], [{"role": "nobody", "content": "hi"}])

    @pytest.fixture
    def subject(self) -> object:
        return ChatCompletions()


class TestGeminiContents(CodecContract):
    samples: Sequence[object] = files("gemini_files/contents*.json")

    @pytest.fixture
    def subject(self) -> object:
        return GeminiContents


class TestGeminiInteractions(CodecContract):
    samples: Sequence[object] = files("gemini_files/interactions*.json")

    @pytest.fixture
    def subject(self) -> object:
        return GeminiInteractions


class TestNeutral(CodecContract):
    samples = SEALED

    @pytest.fixture
    def subject(self) -> object:
        return Neutral


class TestOpenAIResponses(CodecContract):
    samples: Sequence[object] = files("responses_files/*.json")

    @pytest.fixture
    def subject(self) -> object:
        return OpenAIResponses


def _node(at: int, role: str, content: object) -> dict[str, object]:
    message = {"author": {"role": role}, "content": content}
    return {"id": f"n{at}", "message": message, "parent": f"n{at - 1}" if at else None, "children": []}


EXPORT = {
    "title": "The ferry",
    "current_node": "n2",
    "mapping": {
        "n0": _node(0, "user", {"content_type": "text", "parts": ["When does the ferry leave?"]}),
        "n1": _node(1, "assistant", {"content_type": "text", "parts": ["At half past six."]}),
        "n2": _node(2, "user", {"content_type": "text", "parts": ["And on Sunday?"]}),
    },
}


class TestChatGPTExport(CodecContract):
    reads_only = True
    samples: Sequence[object] = [EXPORT, [EXPORT]]
    broken: Sequence[object] = ({"mapping": {}, "current_node": "n9"}, [EXPORT, EXPORT])

    @pytest.fixture
    def subject(self) -> object:
        return ChatGPTExport


def _line(uuid: str, parent: str | None, role: str, content: object) -> dict[str, object]:
    return {"type": role, "uuid": uuid, "parentUuid": parent, "message": {"role": role, "content": content}}


class TestClaudeCode(CodecContract):
    reads_only = True
    samples: Sequence[object] = [
        [
            _line("u1", None, "user", "Which berth is free?"),
            _line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "c2VhbGVk"}]),
            _line("a2", "a1", "assistant", [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}}]),
            _line("u2", "a2", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "C4 and C7"}]),
            _line("a3", "u2", "assistant", [{"type": "text", "text": "C4 and C7."}]),
            {"type": "summary", "summary": "Berths"},
        ],
        [_line("u1", None, "user", "hi")],
    ]

    @pytest.fixture
    def subject(self) -> object:
        return ClaudeCode


class TestShareGPT(CodecContract):
    reads_only = True
    samples: Sequence[object] = [
        {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}], "id": "x"},
        [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "hi"}],
    ]

    @pytest.fixture
    def subject(self) -> object:
        return ShareGPT


class ExactContract(TokenizerContract):
    joins_cheaply = True
    counts_surrogates = True


class TestO200kBase(ExactContract):
    @pytest.fixture
    def subject(self) -> object:
        return O200kBase


class TestCl100kBase(ExactContract):
    @pytest.fixture
    def subject(self) -> object:
        return Cl100kBase


deepseek = cache(DeepSeek)


class TestDeepSeek(ExactContract):
    special_tokens: Sequence[str] = ("<｜Assistant｜>", "<think>", "<｜tool▁calls▁begin｜>")

    @pytest.fixture
    def subject(self) -> object:
        return deepseek()


class TestApproximate(TokenizerContract):
    counts_surrogates = True

    @pytest.fixture
    def subject(self) -> object:
        return ApproximateV1


class TestOpenAICompatible(ProviderContract):
    streams = STREAMS
    settings: Mapping[str, object] = {"merge_roles": True, "send_reasoning": "running"}
    options: Mapping[str, object] = {"temperature": 0.5, "tool_choice": "auto"}

    @pytest.fixture
    def subject(self) -> object:
        return OpenAICompatible


class TestOpenAI(ProviderContract):
    streams = RESPONSES_STREAMS
    settings: Mapping[str, object] = {"organization": "org-1", "reasoning_summary": "auto"}
    options: Mapping[str, object] = {"reasoning_effort": "low", "tool_choice": "look_up"}

    @pytest.fixture
    def subject(self) -> object:
        return OpenAI


class TestGemini(ProviderContract):
    streams = INTERACTIONS_STREAMS

    @pytest.fixture
    def subject(self) -> object:
        return Gemini


def claimed(provider: str, claim: str) -> Any:
    """What is claimed for a built-in provider."""
    return OWN_CLAIMS["provider", provider][claim]


class TestAnthropic(ProviderContract):
    streams = claimed("anthropic", "streams")
    settings: Mapping[str, object] = {"cache_ttl": "1h", "beta": ["something-2026-01-01"]}
    options: Mapping[str, object] = {"thinking": "adaptive", "effort": "low", "tool_choice": "auto"}

    @pytest.fixture
    def subject(self) -> object:
        return Anthropic


class TestAnthropicThreads(ProviderContract):
    streams = claimed("anthropic", "streams")
    settings: Mapping[str, object] = {"threads": True, "thinking_mismatch": "drop_block"}

    @pytest.fixture
    def subject(self) -> object:
        return Anthropic


class TestDeepSeekProvider(ProviderContract):
    streams = claimed("deepseek", "streams")
    settings: Mapping[str, object] = {"reasoning_effort": "max", "user_id": "shop"}
    options: Mapping[str, object] = {"thinking": "enabled", "tool_choice": "auto"}

    @pytest.fixture
    def subject(self) -> object:
        return DeepSeekProvider


class TestChatGPT(ProviderContract):
    streams = claimed("chatgpt", "streams")
    settings: Mapping[str, object] = claimed("chatgpt", "settings")
    options: Mapping[str, object] = {"reasoning_effort": "low", "tool_choice": "look_up"}
    no_output_limit = True

    @pytest.fixture
    def subject(self) -> object:
        return ChatGPT


class TestKeeper(ProviderContract):
    streams = STREAMS

    @pytest.fixture
    def subject(self) -> object:
        return Keeper


class TestDryRun(ProviderContract):
    @pytest.fixture
    def subject(self) -> object:
        return DryRun


class TestDryRunWithTools(ProviderContract):
    settings: Mapping[str, object] = {"tool_calls": [{"name": "look_up", "arguments": {"shelf": 9}}]}
    streams = STREAMS

    @pytest.fixture
    def subject(self) -> object:
        return DryRun()


class TestProviderWithACodecOfItsOwn(ProviderContract):
    own_codecs = ("telegrams",)
    own_codec = ChatCompletions
    streams = STREAMS

    @pytest.fixture
    def subject(self) -> object:
        return type("Telegraph", (Talker,), {"codec": "telegrams"})


class Hashed(Vectors):
    """An embedder by the hashes of words, as local ones are at their simplest."""

    name = "hashed words"
    dimensions = 64

    def vector(self, text: str) -> list[float]:
        found = [0.0] * self.dimensions
        for word in text.lower().split():
            found[crc32(word.encode("utf-8", "replace")) % self.dimensions] += 1.0
        return found


class TestEmbedder(EmbedderContract):
    works_offline = True

    @pytest.fixture
    def subject(self) -> object:
        return Hashed()


# The kit's own number is for authors, who run it now and then; here it runs at every change.
for _contract in [one for name, one in vars().items() if name.startswith("Test")]:
    _contract.examples = 10
