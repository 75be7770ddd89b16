"""Reading of DeepSeek's streams: Chat Completions, with what its cache had of the prompt."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.providers.chat_stream import ChatStreamReader
from trimtab_plugins.providers.stream_json import JsonObject

_CACHED: Mapping[str, str] = {
    "prompt_cache_hit_tokens": "promptCacheHitTokens",
    "prompt_cache_miss_tokens": "promptCacheMissTokens",
}
_MOST = 2**53


class DeepSeekStreamReader(ChatStreamReader):
    """Reads one answer. Its state has `promptCacheHitTokens` and `promptCacheMissTokens`, where they are told."""

    def _note(self, chunk: JsonObject) -> None:
        super()._note(chunk)
        usage = chunk.get("usage")
        for key, name in _CACHED.items():
            tokens = usage.get(key) if isinstance(usage, dict) else None
            if type(tokens) is int and 0 <= tokens < _MOST:
                self._facts[name] = tokens
