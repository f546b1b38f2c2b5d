"""A small HTTP server that webhooks are sent to."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """Keeps what it received; ``answers`` are the statuses of the next answers, then 200.

    A status of 0 hangs until it is closed.
    """

    def __init__(self, port=0):
        self.received = []  # (headers, body)
        self.answers = []
        self._open = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append((self.headers, body))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 0:
                    receiver._open.wait(30)
                    return
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://localhost:{self.port}/hook?x=1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._open.set()
        self._server.shutdown()
        self._server.server_close()

    def wait(self, count, seconds=20):
        """The first ``count`` requests, once they are there."""
        end = time.monotonic() + seconds
        while len(self.received) < count:
            assert time.monotonic() < end, f"{len(self.received)} of {count} requests came"
            time.sleep(0.02)
        return self.received[:count]
