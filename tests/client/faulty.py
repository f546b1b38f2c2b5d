"""A real HTTP proxy that misbehaves on purpose: it loses requests and answers, or refuses them.

Faults are taken one for each request, in their order; when none are left, requests pass.
"""

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf

import httpx

PASS = "pass"
LOSE_REQUEST = "lose request"  # closed before the server sees it
LOSE_ANSWER = "lose answer"  # the server carries it out; nobody hears of it
HANG = "hang"  # no answer, while the connection stays open


class Refuse:
    """Answer with a status instead of asking the server."""

    def __init__(self, status, headers=None, body=b"", kind="text/html"):
        self.status, self.body = status, body
        self.headers = {"Content-Type": kind, **(headers or {})}


class CutAfter:
    """Pass a stream on, and cut it after some lines that are not comments."""

    def __init__(self, lines):
        self.lines = lines


class FaultyProxy:
    """Listens on a free port; `requests` holds (method, path, headers, body) of what came."""

    def __init__(self, upstream):
        self.faults, self.requests = [], []
        self.upstream = httpx.Client(base_url=upstream, timeout=60)
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                proxy.handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._closing = threading.Event()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.upstream.close()

    def handle(self, request):
        """Do to one request what the next fault says."""
        with suppress(OSError, httpx.HTTPError):  # either side left
            self._handle(request)

    def _handle(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length)
        self.requests.append((request.command, request.path, dict(request.headers), body))
        is_stream = request.path.endswith("/events")
        fault = self.faults.pop(0) if self.faults else CutAfter(inf) if is_stream else PASS
        if fault == HANG:
            self._closing.wait(30)
        if fault in (LOSE_REQUEST, HANG):
            request.close_connection = True
        elif isinstance(fault, Refuse):
            self._answer(request, fault.status, fault.headers, fault.body)
        elif isinstance(fault, CutAfter):
            self._stream(request, fault.lines)
        else:
            self._forward(request, body, lose=fault == LOSE_ANSWER)

    def _forward(self, request, body, lose):
        answer = self.upstream.send(self._built(request, body))
        if lose:
            request.close_connection = True
            return
        self._answer(request, answer.status_code, dict(answer.headers), answer.content)

    def _built(self, request, body=b""):
        skipped = ("host", "content-length", "connection", "accept-encoding")
        headers = {k: v for k, v in request.headers.items() if k.lower() not in skipped}
        headers["Accept-Encoding"] = "identity"  # answers are passed on as they are
        return self.upstream.build_request(
            request.command, request.path, content=body, headers=headers
        )

    def _answer(self, request, status, headers, body):
        skipped = ("content-length", "transfer-encoding", "connection", "date", "server")
        request.send_response(status)
        for name, value in headers.items():
            if name.lower() not in skipped:
                request.send_header(name, value)
        if status not in (204, 304):
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _stream(self, request, lines):
        """Pass on line by line; the last chunk, which says that the stream is whole, is missing."""
        request.close_connection = True
        answer = self.upstream.send(self._built(request), stream=True)
        request.send_response(answer.status_code)
        request.send_header("Content-Type", answer.headers["content-type"])
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        try:
            for line in answer.iter_lines():
                request.wfile.write(b"%x\r\n%s\n\r\n" % (len(line.encode()) + 1, line.encode()))
                request.wfile.flush()
                lines -= bool(line) and not line.startswith(":")
                if lines <= 0:
                    return
        finally:
            answer.close()


def unused_url():
    """An address that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
