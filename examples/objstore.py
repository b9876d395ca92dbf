#!/usr/bin/python3
"""A small object store over HTTP, slow on purpose if asked: the far end of `torch_train.py --data http`.

GET and HEAD of the files below ROOT, over connections that stay open, each served by a thread of its own. Every answer
can be held back (--delay) and trickled out (--bandwidth, for each connection), which is what a remote, loaded or
badly routed store looks like to its client.

    objstore.py --port 8080 --delay 5ms --bandwidth 20M /data/train

prints one line, "ready http://127.0.0.1:8080", and serves until SIGTERM, SIGINT or, with --until-eof, until its
standard input ends, so that it never outlives the job that started it."""

import argparse
import http.server
import os
import shutil
import signal
import sys
import threading
import time
import urllib.parse

CHUNK = 64 * 1024
SECOND = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
SIZE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def seconds(text):
    """Seconds from "0.005", "5ms" or "200us"."""
    digits = text.rstrip("mus")
    return float(digits) * SECOND[text[len(digits):]]


def size(text):
    """Bytes from "4096", "64K" or "20M"."""
    digits = text.upper().rstrip("IB").rstrip("KMG")
    return int(float(digits) * SIZE[text.upper().rstrip("IB")[len(digits):]])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open between requests
    disable_nagle_algorithm = True
    wbufsize = 8192  # header and a small object leave in one segment
    server_version = "objstore"

    def do_GET(self):
        self.serve(body=True)

    def do_HEAD(self):
        self.serve(body=False)

    def serve(self, body):
        path = self.server.path_of(self.path)
        try:
            source = open(path, "rb")
        except OSError:
            self.send_error(404)
            return
        with source:
            time.sleep(self.server.delay)
            length = os.fstat(source.fileno()).st_size
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if body:
                self.send_body(source)

    def send_body(self, source):
        if not self.server.bandwidth:
            shutil.copyfileobj(source, self.wfile, CHUNK)
            return
        due = time.monotonic()
        while chunk := source.read(CHUNK):
            self.wfile.write(chunk)
            self.wfile.flush()
            due += len(chunk) / self.server.bandwidth
            time.sleep(max(0.0, due - time.monotonic()))

    def log_message(self, *_):
        pass


class Store(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, root, delay, bandwidth):
        super().__init__(address, Handler)
        self.root = os.path.realpath(root)
        self.delay = delay
        self.bandwidth = bandwidth

    def path_of(self, url_path):
        """The file an URL's path names; a name that would leave the root names nothing."""
        name = urllib.parse.unquote(urllib.parse.urlsplit(url_path).path).lstrip("/")
        path = os.path.realpath(os.path.join(self.root, name))
        return path if path.startswith(self.root + os.sep) else ""

    def handle_error(self, request, client_address):
        """A client that goes away in the middle of an answer is not worth a traceback."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def stop_at_eof(store):
    while os.read(sys.stdin.fileno(), CHUNK):  # not through sys.stdin: its lock must be free when Python ends
        pass
    store.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", help="directory whose files are the objects")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument("--delay", type=seconds, default=0.0, help="hold every answer back: 0.005, 5ms, 200us")
    parser.add_argument("--bandwidth", type=size, default=0, help="bytes per second and connection: 20M (default: no limit)")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends")
    args = parser.parse_args()
    if not os.path.isdir(args.root):
        parser.error(f"{args.root} is not a directory")

    with Store((args.host, args.port), args.root, args.delay, args.bandwidth) as store:
        stop = lambda *_: threading.Thread(target=store.shutdown).start()
        signal.signal(signal.SIGTERM, stop)
        # Ctrl-C reaches the whole foreground group: a store owned by a job leaves it to the job to end both in order.
        signal.signal(signal.SIGINT, signal.SIG_IGN if args.until_eof else stop)
        if args.until_eof:
            threading.Thread(target=stop_at_eof, args=(store,), daemon=True).start()
        print(f"ready http://{args.host}:{store.server_address[1]}", flush=True)
        store.serve_forever(poll_interval=0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
