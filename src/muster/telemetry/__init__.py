"""Traces and logs for OpenTelemetry: turns, tasks, pieces of work and tool calls as spans.

Owns what becomes a span, and its export over OTLP. The extra `otel` is imported only where the
settings name a collector. Nothing depends on it: a collector that is away costs a warning.
"""
