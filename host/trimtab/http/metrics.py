"""Figures for Prometheus. Labels are routes, statuses, providers and kinds: no ids, no owners, no model names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import Scope

if TYPE_CHECKING:
    from trimtab.host import Host
    from trimtab.http.streams import StreamSlots

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_METHODS: Final = frozenset({"GET", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD", "PUT"})
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The figures of one server."""

    def __init__(self, host: Host, streams: StreamSlots) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        self._requests = Counter(
            "trimtab_http_requests",
            "Requests that were answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "trimtab_http_request_seconds",
            "Seconds until the end of the answer.",
            ["route"],
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._registry.register(_Now(host, streams))

    def request_ended(self, scope: Scope, *, status: int, seconds: float) -> None:
        """Count a request; `status` is 0 when the caller was gone before there was an answer."""
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Give all figures in the text format of Prometheus."""
        return generate_latest(self._registry)


class _Now(Collector):
    """What is read when it is asked for."""

    def __init__(self, host: Host, streams: StreamSlots) -> None:
        self._host = host
        self._streams = streams

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("trimtab_streams_open", "Streams that are open.", value=self._streams.open)
        yield GaugeMetricFamily(
            "trimtab_turns_running", "Turns that run in this process.", value=self._host.running_turns
        )
        yield self._tokens()
        yield self._ratios()

    def _tokens(self) -> Metric:
        tokens = CounterMetricFamily(
            "trimtab_tokens", "Tokens that a provider reports.", labels=["provider", "kind"]
        )
        for provider, kinds in self._host.usage_ratios.totals().items():
            for kind, count in kinds.items():
                tokens.add_metric([provider, kind], count)
        return tokens

    def _ratios(self) -> Metric:
        ratio = GaugeMetricFamily(
            "trimtab_usage_ratio",
            "Input tokens that a provider reports, divided by our own count; the mean over its calls.",
            labels=["provider"],
        )
        calls: dict[str, int] = defaultdict(int)
        sums: dict[str, float] = defaultdict(float)
        for one in self._host.usage_ratios.all():
            calls[one.provider] += one.count
            sums[one.provider] += one.mean * one.count
        for provider, count in sorted(calls.items()):
            ratio.add_metric([provider], sums[provider] / count)
        return ratio
