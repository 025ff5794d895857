"""A collector on loopback that takes OTLP over HTTP, and keeps what it was told."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.waits import WAIT_SECONDS


class Collector(ThreadingHTTPServer):
    """Keeps the spans by name, the records, and all bytes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []
        self.spans: dict[str, Span] = {}
        self.records: dict[str, LogRecord] = {}
        self.changed = Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def span(self, name: str) -> Span:
        """Wait for a span."""
        with self.changed:
            assert self.changed.wait_for(lambda: name in self.spans, WAIT_SECONDS), self.spans
            return self.spans[name]

    def record(self, name: str) -> LogRecord:
        """Wait for the record of an event."""
        with self.changed:
            assert self.changed.wait_for(lambda: name in self.records, WAIT_SECONDS)
            return self.records[name]

    def take(self, path: str, body: bytes) -> None:
        with self.changed:
            self.bodies.append(body)
            if path == "/v1/traces":
                told = ExportTraceServiceRequest.FromString(body)
                scopes = (scope for each in told.resource_spans for scope in each.scope_spans)
                self.spans |= {span.name: span for scope in scopes for span in scope.spans}
            else:
                logged = ExportLogsServiceRequest.FromString(body)
                parts = (scope for each in logged.resource_logs for scope in each.scope_logs)
                self.records |= {
                    each.event_name: each for part in parts for each in part.log_records
                }
            self.changed.notify_all()


class Handler(BaseHTTPRequestHandler):
    """Takes one export."""

    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


def attributes(of: Span | LogRecord) -> dict[str, str | int | float]:
    """Attributes by name."""
    return {each.key: _value(each) for each in of.attributes}


def _value(pair: KeyValue) -> str | int | float:
    values = pair.value
    match values.WhichOneof("value"):
        case "int_value":
            return values.int_value
        case "double_value":
            return values.double_value
        case _:
            return values.string_value


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector, until the end."""
    with Collector() as collector:
        thread = Thread(target=collector.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join(WAIT_SECONDS)
