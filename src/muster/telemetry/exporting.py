"""Export of spans and log records to a collector, over OTLP and HTTP.

The SDK of OpenTelemetry encodes, sends and retries. Headers, such as a key for the collector, come
from its own variable, `OTEL_EXPORTER_OTLP_HEADERS`.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from muster.telemetry.records import EventRecord
from muster.telemetry.spans import WorkSpan
from muster.version import __version__

TIMEOUT_SECONDS: Final = 10
"""How long one export may take, retries included."""

SCOPE: Final = InstrumentationScope("muster", __version__)
SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class OtlpExporter:
    """Sends the spans and records of one life of muster. Blocks: call it in a thread."""

    def __init__(self, url: str, *, life: str, team: str) -> None:
        """Send to the collector at `url`; the ids of spans are different in each `life`."""
        base = url.rstrip("/")
        self._life = life
        self._resource = Resource.create(
            {"service.name": "muster", "service.version": __version__, "muster.team": team}
        )
        self._spans = OTLPSpanExporter(f"{base}/v1/traces", timeout=TIMEOUT_SECONDS)
        self._logs = OTLPLogExporter(f"{base}/v1/logs", timeout=TIMEOUT_SECONDS)

    def export(self, spans: Sequence[WorkSpan], records: Sequence[EventRecord]) -> bool:
        """Whether the collector has taken all of them."""
        told = SpanExportResult.SUCCESS
        if spans:
            told = self._spans.export([self._span(each) for each in spans])
        logged = LogRecordExportResult.SUCCESS
        if records:
            logged = self._logs.export([self._record(each) for each in records])
        return (told, logged) == (SpanExportResult.SUCCESS, LogRecordExportResult.SUCCESS)

    def close(self) -> None:
        """End the connections; an export under way gives up."""
        self._spans.shutdown()
        self._logs.shutdown()

    def _span(self, span: WorkSpan) -> ReadableSpan:
        place = span.place
        failed = Status(StatusCode.ERROR, span.failure) if span.failure else Status()
        return ReadableSpan(
            name=span.name,
            context=self._context(place.trace, place.key),
            parent=self._context(place.trace, place.parent) if place.parent else None,
            resource=self._resource,
            attributes=dict(span.attributes),
            status=failed,
            start_time=_nanoseconds(span.started),
            end_time=_nanoseconds(span.ended),
            instrumentation_scope=SCOPE,
        )

    def _context(self, trace: str, key: str) -> SpanContext:
        return SpanContext(
            self._id(trace, 16), self._id(key, 8), is_remote=False, trace_flags=SAMPLED
        )

    def _id(self, name: str, size: int) -> int:
        """The id for a name; never 0, which means none."""
        digest = hashlib.blake2b(f"{self._life}/{name}".encode(), digest_size=size).digest()
        return int.from_bytes(digest) or 1

    def _record(self, record: EventRecord) -> ReadableLogRecord:
        told = LogRecord(
            timestamp=_nanoseconds(record.at),
            observed_timestamp=_nanoseconds(record.at),
            severity_text=str(record.severity),
            severity_number=SeverityNumber[record.severity],
            body=record.body,
            attributes=dict(record.attributes),
            event_name=record.name,
        )
        return ReadableLogRecord(told, self._resource, SCOPE)


def _nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1_000
