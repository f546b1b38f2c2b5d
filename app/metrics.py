"""Prometheus metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_SLOW = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "plaudit_requests_total",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "plaudit_request_seconds",
            "Time from a request to its answer.",
            ["route"],
            buckets=_FAST,
            registry=self.registry,
        )
        self.connections_refused = Counter(
            "plaudit_connections_refused_total",
            "Connections closed because of a limit, by the code of the problem.",
            ["code"],
            registry=self.registry,
        )
        self.steps = Counter("plaudit_steps_total", "Steps taken.", registry=self.registry)
        self.episodes = Counter(
            "plaudit_episodes_total", "Episodes started.", registry=self.registry
        )
        self.labels = Counter(
            "plaudit_labels_total", "Labels given.", ["label"], registry=self.registry
        )
        self.learning_seconds = Histogram(
            "plaudit_learning_seconds",
            "Time of each part of learning.",
            ["part"],
            buckets=_SLOW,
            registry=self.registry,
        )
        self.learning_failures = Counter(
            "plaudit_learning_failures_total", "Learning jobs that failed.", registry=self.registry
        )

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value ``read`` returns when the metrics are rendered."""
        Gauge(name, help_text, registry=self.registry).set_function(read)

    def learned(self, parts: Mapping[str, float]) -> None:
        """Record how long the parts of one learning job took."""
        for part, seconds in parts.items():
            self.learning_seconds.labels(part).observe(seconds)

    def render(self) -> bytes:
        """Render all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
