"""A web server with pages that behave as real chat pages do, and a record of what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

CHAT = """<!doctype html>
<html><head><title>chat</title></head><body>
<main id="log"><p>How can I help?</p></main>
%(extra)s
<textarea style="display: none" id="hidden"></textarea>
%(input)s
<script>
const asked = new URLSearchParams(location.search), number = (name) => Number(asked.get(name) ?? 0);
const input = document.querySelector("#input"), log = document.querySelector("#log");
let presses = 0;
console.log("chat is up");
const say = (text, kind) => {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = text;
  log.append(line);
};
input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  if (++presses <= number("deaf")) return;
  const text = input.value ?? input.textContent;
  if ("value" in input) input.value = ""; else input.textContent = "";
  say(text, "user");
  const words = number("words") || 1;
  for (let i = 0; i < words; i++) {
    setTimeout(() => say(`answer ${i + 1} to ${text}`, "agent"), number("delay") + i * 100);
  }
});
%(script)s
</script></body></html>"""

TEXTAREA = '<textarea id="input"></textarea>'


def chat(input_html: str = TEXTAREA, extra: str = "", script: str = "") -> str:
    """A chat page; its query says how it behaves.

    ``deaf`` is how many times it ignores Enter, ``delay`` what its answer takes in milliseconds, and
    ``words`` of how many messages that is.
    """
    return CHAT % {"input": input_html, "extra": extra, "script": script}


PAGES = {
    "/chat": chat(),
    "/text": chat('<input type="number"><input type="text" id="input">'),
    "/locked": chat(
        "<textarea readonly></textarea><fieldset disabled><textarea></textarea></fieldset>"
        '<input readonly><input type="text" aria-disabled="true"><input id="input">'
    ),
    "/editable": chat('<div id="input" contenteditable style="width: 9em; height: 2em"></div>'),
    "/alert": chat(script='alert("welcome");'),
    "/cookie": chat(script='say(`cookie: ${document.cookie}`, "seen"); document.cookie = "seen=before";'),
    "/storage": chat(script='say(`user: ${localStorage.getItem("user")} ${document.cookie}`, "seen");'),
    "/form": '<form method="post" action="/posted"><input name="q"></form>',
    "/endless": chat(
        # The server is told, and answers, before the script begins that never ends.
        script="""
        input.addEventListener("input", () => {
          const request = new XMLHttpRequest();
          request.open("GET", "/typed", false);
          request.send();
        });
        input.addEventListener("keydown", () => { for (;;) {} });"""
    ),
    "/nothing": "<p>No input here.</p>",
    "/shadow": chat(
        extra="<my-panel></my-panel><template><p>unused</p></template>"
        '<iframe src="/inner" style="width: 200px"></iframe>',
        script="""
        customElements.define("my-panel", class extends HTMLElement {
          connectedCallback() {
            this.attachShadow({ mode: "open" }).innerHTML = "<p>in the <b>shadow</b></p><my-leaf></my-leaf>";
          }
        });
        customElements.define("my-leaf", class extends HTMLElement {
          connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML = "<p>in the deep</p>"; }
        });""",
    ),
    "/inner": "<p>in the frame</p>",
    "/setup": chat(
        input_html='<textarea id="input" style="display: none"></textarea>',
        extra="""
        <dialog open id="modal">Welcome <button id="dismiss">ok</button></dialog>
        <select id="agent"><option value="">choose</option><option value="hr">People</option></select>
        <input type="text" id="team">
        <button id="why">why</button><div id="reasons"></div>
        <a id="away" href="javascript:location.assign('about:blank')">away</a>""",
        script="""
        const get = (id) => document.getElementById(id);
        get("dismiss").onclick = () => { say("dismissed", "did"); get("modal").remove(); };
        get("agent").onchange = () => {
          say(`chose ${get("agent").value}`, "did");
          input.style.display = "";
        };
        get("team").oninput = () => say(`team ${get("team").value}`, "did");
        get("why").onclick = () => { get("reasons").textContent = "because"; };""",
    ),
}


class Site:
    """A running server. ``seen`` are the requests: path and headers, in their order.

    ``on_request`` is called with the path of each, before it is answered.
    """

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.pages = dict(PAGES)
        self.statuses: dict[str, int] = {}
        self.redirects: dict[str, str] = {}
        self.held = threading.Event()
        self.on_request: Callable[[str], None] = lambda path: None

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def authorizations(self, path: str) -> set[str | None]:
        """What requests to a path had as ``Authorization``."""
        return {headers.get("authorization") for asked, headers in self.seen if asked == path}


@contextmanager
def serve() -> Iterator[Site]:
    """Run a server until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    site = _Handler.sites[server.server_address[1]] = Site(server)
    # It is asked to end that often.
    polling = {"poll_interval": 0.01}
    threading.Thread(target=server.serve_forever, kwargs=polling, daemon=True).start()
    try:
        yield site
    finally:
        site.held.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    sites: dict[int, Site] = {}  # noqa: RUF012 - handlers are made by the server

    def do_GET(self) -> None:
        address: Any = self.server.server_address
        site, asked = self.sites[address[1]], urlsplit(self.path)
        site.seen.append((asked.path, {name.lower(): value for name, value in self.headers.items()}))
        site.on_request(asked.path)
        if asked.path == "/held":
            site.held.wait(60)
        if asked.path in site.redirects:
            self.send_response(302)
            self.send_header("Location", site.redirects[asked.path])
            self.end_headers()
            return
        body = site.pages.get(asked.path, "")
        self.send_response(site.statuses.get(asked.path, 200))
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<p>you posted {form['q'][0]}</p>".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""
