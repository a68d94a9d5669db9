#!/usr/bin/env python3
"""Stands in for chela-infer: same options, same routes. What it does wrong is asked for by files in the models folder
(`broken`: it says much and ends, `silent`: it never listens) and by the last message ("crash": it dies in the middle of the answer, "leave": it answers and ends)."""

import argparse
import http.server
import json
import os
import signal
import socketserver
import sys
import threading

parser = argparse.ArgumentParser()
for option in ("--socket", "--models", "--threads", "--idle-seconds", "--parent-pid"):
    parser.add_argument(option)
args = parser.parse_args()
if os.path.exists(os.path.join(args.models, "broken")):
    print("fake: loading\n" * 10000, file=sys.stderr)
    print("fake: a model file is damaged", file=sys.stderr)
    sys.exit(3)
if os.path.exists(os.path.join(args.models, "silent")):
    signal.pause()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        self.answer({"status": "ok", "data": [{"id": "local/minilm"}, {"id": "local/small"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request["messages"][-1]["content"]
        if text == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        message = {"role": "assistant", "content": f"{os.getpid()} {args.threads} {args.idle_seconds}"}
        self.answer({"model": request["model"], "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        if text == "leave":
            threading.Thread(target=lambda: os._exit(0)).start()


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


if os.path.exists(args.socket):
    os.unlink(args.socket)
Server(args.socket, Handler).serve_forever()
