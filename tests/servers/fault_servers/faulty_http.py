"""An MCP server over streamable HTTP without any library, in a thread of the test, to misbehave exactly."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FaultyHttp(ThreadingHTTPServer):
    """``url`` behaves until a tool asks otherwise; ``refusing(status)`` answers only with the status."""

    daemon_threads = True
    # A test ends its clients before the server; what is still blocked then must not hold up the test.
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.released = threading.Event()
        self.seen_headers: dict[str, str] = {}
        self.sessions = {"first"}
        self.aborted: list[socket.socket] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    def abort(self, connection: socket.socket) -> None:
        """Close the socket under the handler, so that the client gets a reset."""
        self.aborted.append(connection)
        os.close(connection.detach())

    def shutdown_request(self, request: Any) -> None:
        if request not in self.aborted:
            super().shutdown_request(request)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def refusing(self, status: int) -> str:
        return f"http://user:secret@127.0.0.1:{self.server_port}/{status}/mcp?key=secret"

    def close(self) -> None:
        self.released.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: FaultyHttp
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        self._answer(405, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen_headers = {key.lower(): value for key, value in self.headers.items()}
        first = self.path.split("/")[1]
        if first.isdigit():
            self._answer(int(first), b"go away")
        elif "id" not in message:
            self._answer(202, b"")
        else:
            self._reply(message)

    def _reply(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        session = self.headers.get("mcp-session-id")
        if session is not None and session not in self.server.sessions:
            return self._answer(404, b"")
        match message["method"]:
            case "initialize":
                info = {"name": "faulty-http", "version": "1"}
                result = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {},
                    "serverInfo": info,
                }
                return self._result(message, result)
            case "ping":
                return self._result(message, {})
            case "tools/list":
                names = ["ok", "status", "json_status", "reset", "cut", "never", "forget", "says", "rejects"]
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
                return self._result(message, {"tools": tools})
            case "tools/call":
                return self._call(message, params["name"], params.get("arguments") or {})
        return self._error(message, 200, -32601, "Method not found")

    def _call(self, message: dict[str, Any], tool: str, arguments: dict[str, Any]) -> None:
        match tool:
            case "status":
                self._answer(arguments["code"], b"<html>no</html>")
            case "json_status":
                self._error(message, arguments["code"], -32602, "the page number is missing")
            case "reset":
                self._reset()
            case "cut":
                self._start(200, 1000)
                self.wfile.write(b'{"jsonrpc":')
                self._reset()
            case "stream":
                result = {"content": [{"type": "text", "text": "x" * arguments["size"]}]}
                reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
                self._answer(200, f"event: message\ndata: {reply}\n\n".encode(), "text/event-stream")
            case "says":
                said = arguments["body"].replace("ID", str(message["id"]))
                self._answer(arguments.get("code", 200), said.encode(), arguments["content_type"])
            case "rejects":
                self._error(message, 200, arguments["code"], "Rate limit exceeded")
            case "never":
                self.server.released.wait()
            case "forget":
                self.server.sessions = {"second"}
                self._answer(404, b"")
            case _:
                self._result(message, {"content": [{"type": "text", "text": "ok"}]})

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        # The descriptor itself must go: the file objects of the handler would keep the socket open.
        self.server.abort(self.connection)

    def _result(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self._answer(200, body, "application/json")

    def _error(self, message: dict[str, Any], status: int, code: int, words: str) -> None:
        error = {"code": code, "message": words}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
        self._answer(status, body, "application/json")

    def _answer(self, status: int, body: bytes, content_type: str = "text/html") -> None:
        self._start(status, len(body), content_type)
        self.wfile.write(body)

    def _start(self, status: int, length: int, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(length))
        self.send_header("mcp-session-id", next(iter(self.server.sessions)))
        self.end_headers()
