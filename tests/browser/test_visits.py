"""Visits of pages: both drivers go through the same steps and leave the same files."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path
from threading import Timer

import psutil
import pytest

from pytest_mcpeval import BrowserError
from pytest_mcpeval.browser.directive import BearerAuth, DriverOptions, PageAction, ResponseReady
from pytest_mcpeval.browser.playwright_browser import PlaywrightBrowser
from pytest_mcpeval.kinds.agent.visible_text import visible_text
from tests.browser.conftest import MakeVisit, by_one_driver
from tests.browser.pages import Site, chat, serve

STEPS = (
    "open_browser",
    "navigate",
    "preconditions",
    "landing",
    "locate_input",
    "submit",
    "wait",
    "reveal",
    "after_submit",
)
FILES = {
    "trace/dom/step-001-landing.html",
    "trace/dom/step-002-after_submit.html",
    "trace/screenshots/step-001-landing.png",
    "trace/screenshots/step-002-after_submit.png",
}
FAILURE_FILES = {
    "trace/console.log",
    "trace/dom/failure.html",
    "trace/playwright-trace.zip",
    "trace/screenshots/failure.png",
}


def test_a_visit_leaves_screenshots_and_dom_of_both_steps(visit: MakeVisit) -> None:
    made = visit("/chat", input="who is Ada?")
    assert made.result.error is None
    assert made.result.completed == STEPS
    assert made.result.notes == ()
    assert made.result.started < made.result.ended
    assert "hrom" in made.result.browser
    assert set(made.files()) == FILES
    assert "who is Ada?" not in made.landing
    assert made.answer.startswith("<html>")
    assert "answer 1 to who is Ada?" in visible_text(made.answer)
    for name, file in made.files().items():
        assert file.stat().st_mode & 0o077 == 0, name
        assert file.parent.stat().st_mode & 0o077 == 0, name
        assert not name.endswith(".png") or file.read_bytes().startswith(b"\x89PNG")


@by_one_driver
def test_shadow_roots_and_frames_are_part_of_the_page(visit: MakeVisit) -> None:
    made = visit("/shadow")
    assert '<my-panel><template shadowrootmode="open"><p>in the <b>shadow</b></p>' in made.landing
    assert '<mcpeval-frame src="/inner"><p>in the frame</p></mcpeval-frame>' in made.landing
    text = visible_text(made.answer)
    for words in ("in the shadow", "in the deep", "in the frame", "answer 1 to hello"):
        assert words in text
    assert "unused" not in text


def test_actions_before_the_input_and_after_the_answer(visit: MakeVisit) -> None:
    before = (
        PageAction(action="click", selector="#dismiss"),
        PageAction(action="select", selector="#agent", value="hr"),
        PageAction(action="fill", selector="#team", value="Engineering"),
    )
    made = visit(
        "/setup", preconditions=[*before], reveal_actions=(PageAction(action="click", selector="#why"),)
    )
    landing = visible_text(made.landing)
    assert landing.index("dismissed") < landing.index("chose hr") < landing.index("team Engineering")
    assert "because" not in landing
    assert "because" in visible_text(made.answer)


@pytest.mark.parametrize(
    ("page", "selector"),
    [
        pytest.param("/locked", None, id="first-that-can-be-typed-into"),
        pytest.param("/editable", "#input", id="declared-contenteditable"),
    ],
)
def test_where_the_input_is_typed(visit: MakeVisit, page: str, selector: str | None) -> None:
    assert "answer 1 to two words" in visit(page, input="two words", input_selector=selector).answer


@by_one_driver
def test_the_first_visible_text_input_is_typed_into(visit: MakeVisit) -> None:
    assert "answer 1 to two words" in visit("/text", input="two words").answer


STEADY = """
let steady = 0;
setInterval(() => { steady += 20; }, 20);
performance.now = () => steady;
"""
"""The time of a page that stands still whenever the page does: a browser that is held up is no quiet page."""


@by_one_driver
def test_a_page_that_is_quiet_ends_the_wait(visit: MakeVisit, site: Site) -> None:
    site.pages["/steady"] = chat(script=STEADY)
    ready = ResponseReady(dom_quiet_ms=500)
    made = visit("/steady?words=6", response_wait_ms=60_000, response_ready=ready)
    assert "answer 6" in made.answer
    assert made.result.notes == ()


@by_one_driver
def test_a_new_match_of_a_selector_ends_the_wait(visit: MakeVisit, site: Site) -> None:
    site.pages["/greeting"] = chat(script='say("hello, I am an agent", "agent");')
    ready = ResponseReady(selector=".agent")
    made = visit("/greeting?delay=600", response_wait_ms=60_000, response_ready=ready)
    assert "answer 1" in made.answer
    assert made.result.notes == ()


@by_one_driver
def test_the_bound_holds_when_no_answer_comes(visit: MakeVisit) -> None:
    ready = ResponseReady(selector=".agent")
    made = visit("/chat?delay=60000", response_wait_ms=500, response_ready=ready)
    assert made.result.error is None
    assert made.result.notes == ("response_ready was not fulfilled within response_wait_ms (500 ms)",)


def test_enter_is_pressed_again_when_the_page_ignored_it(visit: MakeVisit) -> None:
    made = visit("/chat?deaf=1")
    assert made.answer.count("answer 1 to hello") == 1
    [note] = made.result.notes
    assert note == "the page reacted to Enter only when pressed 2 times"


@by_one_driver
def test_a_page_that_ignores_enter_for_ever_is_an_error(
    visit: MakeVisit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_mcpeval.browser.waiting.REACTION_MS", (500, 1_000))
    made = visit("/chat?deaf=99")
    assert made.error.startswith("submit: the page ignored Enter, pressed 2 times within 1.5 s: the input ")
    assert made.result.completed == STEPS[:5]


STATUS = """
const status = document.querySelector("#status"), tips = ["Connecting", "Hold on", "Almost there"];
let ticks = 0;
const tick = () => { status.textContent = number("tips") ? tips[ticks++ % 3] : `at ${Date.now()}`; };
tick();
setInterval(tick, number("every"));
"""
HELD_SECONDS = 1.5
"""Longer than a page may take to react, when Enter is first pressed."""
MOVING = chat(extra='<p id="status"></p>', script=STATUS)
KEEPING = """<!doctype html><p id="log"></p><textarea id="input"></textarea><script>
setInterval(async () => (await fetch("/poll")).text(), 150);
document.querySelector("#input").addEventListener("keydown", async (event) => {
  event.preventDefault();
  const response = await fetch(`/held?q=${event.target.value}`);
  document.querySelector("#log").innerHTML = `<b>status ${response.status}</b>`;
});
</script>"""


@by_one_driver
def test_what_goes_on_anyway_is_no_reaction_to_enter(visit: MakeVisit, site: Site) -> None:
    site.pages["/moving"] = MOVING
    made = visit("/moving?deaf=1&every=100")
    assert made.answer.count("answer 1 to hello") == 1
    [note] = made.result.notes
    assert note == "the page reacted to Enter only when pressed 2 times"


@by_one_driver
@pytest.mark.parametrize("query", ["every=200", "every=1000", "every=300&tips=1", "every=900&tips=1"])
def test_a_page_that_moves_and_ignores_enter_for_ever_is_an_error(
    visit: MakeVisit, site: Site, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr("pytest_mcpeval.browser.waiting.REACTION_MS", (500, 1_500))
    site.pages["/moving"] = MOVING
    made = visit(f"/moving?deaf=99&{query}")
    assert made.error.startswith("submit: the page ignored Enter, pressed 2 times within 2 s: the input ")
    assert "(replacing one text by another does not count) and nothing was sent" in made.error
    assert made.result.completed == STEPS[:5]


@by_one_driver
def test_a_page_that_keeps_the_text_and_shows_something_new(visit: MakeVisit, site: Site) -> None:
    script = STATUS + """input.addEventListener("keydown", () => { input.value = "hello"; });"""
    site.pages["/moving"] = chat(extra='<p id="status"></p>', script=script)
    made = visit("/moving?every=100&delay=100")
    assert made.answer.count("answer 1 to hello") == 1
    assert made.result.notes == ()


def test_a_page_that_keeps_the_text_and_asks_its_server(visit: MakeVisit, site: Site) -> None:
    def hold(path: str) -> None:
        if path == "/held":
            # The Playwright MCP server waits for what a key sends: some seconds, or until it is answered.
            Timer(HELD_SECONDS, site.held.set).start()

    site.on_request = hold
    site.pages["/keeping"] = KEEPING
    made = visit("/keeping", response_wait_ms=60_000, response_ready=ResponseReady(selector="b"))
    assert "status " in made.answer
    assert made.result.notes == ()
    assert [path for path, _ in site.seen].count("/held") == 1


CONNECTING = """<!doctype html><textarea id="input"></textarea><script>
document.querySelector("#input").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); fetch("/connect", {method: "POST"}); }
});
</script>"""


@by_one_driver
@pytest.mark.parametrize("ready", [None, ResponseReady(selector="#answer")], ids=["no sign", "sign"])
def test_a_page_that_only_connects_when_enter_is_pressed_is_an_error(
    visit: MakeVisit, site: Site, ready: ResponseReady | None
) -> None:
    site.pages["/connecting"] = CONNECTING
    made = visit("/connecting", response_wait_ms=1_100, response_ready=ready)
    assert made.error.startswith(
        "wait: nothing on the page changed within response_wait_ms (1100 ms), and the"
    )
    assert "interaction.preconditions" in made.error
    assert made.result.completed == STEPS[:6]


@by_one_driver
def test_the_own_message_is_no_answer(visit: MakeVisit, site: Site) -> None:
    ready = ResponseReady(dom_quiet_ms=300)
    made = visit("/chat?delay=900", input="**Who** is Ada?", response_wait_ms=60_000, response_ready=ready)
    assert "answer 1" in made.answer
    assert made.result.notes == ()
    # The message with name and time; dots before the answer; a clock.
    site.pages["/named"] = chat(
        extra='<p id="status"></p>',
        script=STATUS
        + """input.addEventListener("keydown", () => {
          const line = log.lastElementChild;
          line.innerHTML = `<b>You</b> <time>10:42</time><p>${line.textContent}</p><button>Edit</button>`;
          const dots = document.createElement("p");
          log.append(dots);
          setInterval(() => { dots.textContent += "."; }, 100);
          setTimeout(() => dots.remove(), 1000);
        });""",
    )
    made = visit("/named?delay=1000&every=100", response_wait_ms=60_000, response_ready=ready)
    assert "answer 1" in made.answer
    assert made.result.notes == ()
    made = visit("/chat?delay=60000", response_wait_ms=900, response_ready=ready)
    assert made.result.notes == (
        "response_ready was not fulfilled within response_wait_ms (900 ms): no text appeared except the "
        "repeated input",
    )


@by_one_driver
@pytest.mark.parametrize(
    ("selector", "begin", "end"),
    [
        pytest.param("#send:not([disabled])", "send.disabled = true;", "send.disabled = false;", id="back"),
        pytest.param(".done", "", "log.insertAdjacentHTML('beforeend', '<i class=done></i>');", id="empty"),
        pytest.param("#hidden", "", "document.querySelector('#hidden').style.display = '';", id="shown"),
    ],
)
def test_matches_that_are_back_or_empty_or_shown_end_the_wait(
    visit: MakeVisit, site: Site, selector: str, begin: str, end: str
) -> None:
    script = f"""const send = document.querySelector("#send");
    input.addEventListener("keydown", () => {{ {begin} setTimeout(() => {{ {end} }}, 700); }});"""
    site.pages["/ending"] = chat(extra='<button id="send">send</button>', script=script)
    fields = {"input_selector": "#input", "response_wait_ms": 60_000}
    made = visit("/ending?delay=600", response_ready=ResponseReady(selector=selector), **fields)
    assert "answer 1" in made.answer
    assert made.result.notes == ()


@by_one_driver
@pytest.mark.parametrize(
    ("ready", "pause_ms"),
    [(ResponseReady(selector=".agent"), 40), (None, 40), (None, 600)],
    ids=["selector", "none", "slow"],
)
def test_a_page_that_still_changes_when_it_is_captured_is_noted(
    visit: MakeVisit, site: Site, ready: ResponseReady | None, pause_ms: int
) -> None:
    streaming = """input.addEventListener("keydown", () => {
      let line;
      setInterval(() => {
        if (!line) { say("", "agent"); line = log.lastElementChild; }
        line.append(" word");
      }, PAUSE);
    });"""
    site.pages["/streaming"] = chat(script=streaming.replace("PAUSE", str(pause_ms)))
    wait = 60_000 if ready is not None else 700 if pause_ms == 40 else 1_900
    made = visit("/streaming", response_wait_ms=wait, response_ready=ready)
    assert "word" in made.answer
    note = "the page was still changing when captured: the answer may not be whole"
    assert made.result.notes[-1:] == (note,)


@by_one_driver
def test_where_the_page_ended_is_kept_and_another_host_is_reported(visit: MakeVisit, site: Site) -> None:
    with serve() as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        leaving = (
            f"""input.addEventListener("keydown", () => {{ location.href = "{elsewhere}/chat?left"; }});"""
        )
        site.pages["/leaving"] = chat(script=leaving)
        gone = {"response_wait_ms": 60_000, "response_ready": ResponseReady(selector="#log")}
        here = visit("/chat?delay=1")
        assert (here.result.final_url, here.result.notes) == (f"{site.url}/chat?delay=1", ())
        made = visit("/leaving", **gone)
        assert made.result.final_url == f"{elsewhere}/chat?left"
        [note] = made.result.notes
        told = f"the page ended on another host: {elsewhere}/chat?left, and access.url is on 127.0.0.1"
        assert note == told
        refused = visit("/leaving", same_host=True, **gone)
        assert refused.error.startswith(f"after_submit: {told}; its host_policy")
        assert refused.result.final_url == f"{elsewhere}/chat?left"
        # Nothing is typed into a page of another host.
        site.redirects["/moved"] = f"{elsewhere}/chat"
        moved = visit("/moved", same_host=True)
        assert moved.error.startswith("landing: the page ended on another host: ")


def test_an_answer_on_another_page(visit: MakeVisit) -> None:
    made = visit("/form", response_wait_ms=60_000, response_ready=ResponseReady(dom_quiet_ms=200))
    assert "you posted hello" in made.answer


def test_dialogs_do_not_hold_up_a_visit(visit: MakeVisit) -> None:
    made = visit("/alert")
    assert "answer 1 to hello" in made.answer
    assert made.result.notes == ('the page opened a dialog, which was dismissed: alert "welcome"',)


def test_what_comes_between_a_question_and_its_answer_is_noted(visit: MakeVisit, site: Site) -> None:
    site.statuses["/broken"], site.pages["/broken"] = 503, '<p class="told">broken</p>'
    asking = """input.addEventListener("keydown", () => {
      if (!confirm("Really \\"ask\\"?")) fetch("/broken").then(() => say("it is broken", "told")); });"""
    site.pages["/asking"] = chat(script=asking)
    told = {"response_wait_ms": 60_000, "response_ready": ResponseReady(selector=".told")}
    assert visit("/asking", **told).result.notes == (
        "the server answered a request of the page with HTTP 503",
        'the page opened a dialog, which was dismissed: confirm "Really "ask"?"',
    )
    site.pages["/posting"] = '<form action="/broken"><input name="q"></form>'
    assert visit("/posting", **told).result.notes == (
        "the server answered a request of the page with HTTP 503",
    )


def test_every_case_has_a_context_of_its_own(visit: MakeVisit) -> None:
    for case_id in ("first", "second"):
        assert "cookie: </p>" in visit("/cookie", case_id=case_id).landing


@by_one_driver
def test_a_page_that_is_too_large_is_told_of(visit: MakeVisit) -> None:
    made = visit("/chat", max_dom_bytes=1_025)
    [note] = made.result.notes
    assert "more than interaction.max_dom_bytes (1,025)" in note
    assert "answer 1" in made.answer


def test_a_page_that_is_down(visit: MakeVisit) -> None:
    with serve() as gone:
        url = gone.url
    made = visit(f"{url}/chat")
    assert made.error.startswith(f"navigate: {url}/chat does not load: ")
    assert "ERR_CONNECTION_REFUSED" in made.error
    assert made.result.completed == ("open_browser",)


def test_the_landing_page_is_captured_when_its_input_is_there(
    visit: MakeVisit, site: Site, tmp_path: Path
) -> None:
    def hold(path: str) -> None:
        until = time.monotonic() + 2
        while path == "/ready" and time.monotonic() < until:
            if any(tmp_path.rglob("step-001-landing.html")):
                break
            time.sleep(0.05)

    site.on_request = hold
    text = json.dumps(chat(extra="<h1>made by a script</h1>")).replace("</", "<\\/")
    site.pages["/made"] = f"<script>fetch('/ready').then(() => document.write({text}))</script>"
    made = visit("/made", input_selector="role=textbox")
    assert "answer 1 to hello" in made.answer
    assert "made by a script" in visible_text(made.landing)


def test_a_page_that_answers_with_an_error(visit: MakeVisit, site: Site) -> None:
    site.statuses["/chat"] = 401
    made = visit("/chat")
    assert made.error.startswith(f"navigate: {site.url}/chat answered HTTP 401: it requires a login")
    assert "How can I help?" in made.folder.failure_dom.read_text(encoding="utf-8")


@by_one_driver
def test_a_page_without_input(visit: MakeVisit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_mcpeval.browser.procedure.INPUT_WAIT_MS", 300)
    made = visit("/nothing")
    assert made.error.startswith(
        "locate_input: no input field was found within 0.3 s: tried textarea:visible"
    )
    assert "interaction.input_selector" in made.error


def test_what_tells_of_a_failure_is_kept(visit: MakeVisit) -> None:
    actions = (
        PageAction(action="click", selector="#dismiss"),
        PageAction.model_construct(action="click", selector="#mis[sing"),
    )
    made = visit("/setup", preconditions=[*actions])
    assert made.error.startswith("preconditions: action 2 of 2: cannot click #mis[sing: ")
    assert set(made.files()) == FAILURE_FILES
    assert "dismissed" in made.folder.failure_dom.read_text(encoding="utf-8")
    assert "chat is up" in made.folder.console_log.read_text(encoding="utf-8")
    names = zipfile.ZipFile(made.folder.playwright_trace).namelist()
    assert {"trace.trace", "trace.network"} <= set(names)
    assert all(file.stat().st_mode & 0o077 == 0 for file in made.files().values())


def test_an_element_that_does_not_come(visit: MakeVisit, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("playwright_browser", "playwright_mcp_page"):
        monkeypatch.setattr(f"pytest_mcpeval.browser.{module}.ACTION_MS", 300)
    made = visit("/chat", input_selector="#missing")
    assert made.error.startswith("locate_input: the input field #missing cannot be typed into: ")
    assert made.error.endswith("Correct interaction.input_selector")


def test_a_page_whose_scripts_never_end(
    visit: MakeVisit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_patience(path: str) -> None:
        if path == "/typed":
            for module in ("playwright_browser", "playwright_mcp_page"):
                monkeypatch.setattr(f"pytest_mcpeval.browser.{module}.COMMAND_SECONDS", 1)

    site.on_request = lose_patience
    assert visit("/endless").error.startswith("submit: ")
    monkeypatch.undo()
    assert "answer 1" in visit("/chat", case_id="next").answer


def test_pages_that_are_not_of_the_web_are_refused(visit: MakeVisit) -> None:
    made = visit(
        "/setup",
        preconditions=[
            PageAction(action="click", selector="#dismiss"),
            PageAction(action="click", selector="#away"),
        ],
    )
    assert made.error.startswith("preconditions: the page went to 'about:blank': only http and https pages")


def test_an_address_that_the_browser_refuses_is_noted(visit: MakeVisit, site: Site) -> None:
    script = """input.addEventListener("keydown", () => { location.href = "data:text/html,away"; });"""
    site.pages["/leaving"] = chat(script=script)
    made = visit("/leaving", response_wait_ms=1_000)
    assert "answer 1 to hello" in made.answer
    [note] = made.result.notes
    assert note.startswith("the page wanted to go to ")
    assert "data:text/html,away" in note


def test_credentials_are_for_one_origin_only(
    visit: MakeVisit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TOKEN", "s3cr3t-token")
    with serve() as other:
        site.pages["/gated"] = chat(
            extra=f'<img src="{other.url}/picture"><img src="/moved"><img src="/own">s3cr3t-token',
            script='fetch("/data"); console.log("trying");',
        )
        site.redirects |= {"/": "/gated", "/moved": f"{other.url}/elsewhere"}
        made = visit(
            "/",
            auth=BearerAuth(type="bearer", token_env="AGENT_TOKEN"),
            input_selector="#input",
            reveal_actions=(PageAction.model_construct(action="click", selector="#n[o"),),
        )
        assert made.error.startswith("reveal: ")
        for path in ("/", "/gated", "/own", "/data", "/moved"):
            assert site.authorizations(path) == {"Bearer s3cr3t-token"}, path
        for path in ("/picture", "/elsewhere"):
            assert other.authorizations(path) == {None}, path
    with zipfile.ZipFile(made.folder.playwright_trace) as archive:
        content = b"".join(map(archive.read, archive.namelist()))
    assert b"s3cr3t-token" not in content
    assert "${AGENT_TOKEN}" in made.landing
    for name, file in made.files().items():
        assert b"s3cr3t-token" not in file.read_bytes(), name


def test_a_browser_that_is_killed_harms_one_visit_only(visit: MakeVisit, site: Site) -> None:
    site.pages["/doomed"] = chat(script='fetch("/kill");')

    def kill(path: str) -> None:
        if path == "/kill":
            _browser_process().kill()

    site.on_request = kill
    made = visit("/doomed", response_wait_ms=120_000)
    assert made.result.error is not None
    assert "/kill" in [path for path, _ in site.seen]
    assert _seconds(made.result.started, made.result.ended) < 60
    assert "answer 1" in visit("/chat", case_id="next").answer


@by_one_driver
def test_a_disk_that_is_full(visit: MakeVisit, tmp_path: Path) -> None:
    screenshots = tmp_path / "runs/agent/run/case/trace/screenshots"
    screenshots.mkdir(parents=True)
    for name in ("step-002-after_submit.png", "failure.png"):
        # Writing to this device fails as on a full disk.
        (screenshots / name).symlink_to("/dev/full")
    made = visit("/chat")
    assert made.error.startswith("after_submit: an artifact cannot be written: ")
    assert "No space left on device" in made.error


# The last two need a Playwright MCP server with settings of their own.


def test_a_page_that_takes_too_long(visit: MakeVisit) -> None:
    made = visit("/held", navigation_timeout_ms=500)
    assert made.error.startswith("navigate: ")
    assert "does not load" in made.error
    assert "500" in made.error


def test_a_user_who_is_logged_in(visit: MakeVisit, site: Site, tmp_path: Path) -> None:
    state = {
        "cookies": [{"name": "sid", "value": "42", "url": site.url}],
        "origins": [{"origin": site.url, "localStorage": [{"name": "user", "value": "ada"}]}],
    }
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    made = visit("/storage", storage_state=str(path))
    assert "user: ada sid=42" in made.landing


def test_a_program_that_is_no_browser() -> None:
    browser = PlaywrightBrowser(DriverOptions(browser="/bin/ls"))
    expected = "/bin/ls does not start: /bin/ls: unrecognized option"
    with pytest.raises(BrowserError, match=expected), browser.fresh_page():
        pass


def _browser_process() -> psutil.Process:
    """The first process of the browser: it has no --type."""
    found = [
        process
        for process in psutil.Process().children(recursive=True)
        if any("--remote-debugging" in part for part in process.cmdline())
        and not any(part.startswith("--type=") for part in process.cmdline())
    ]
    assert found
    return found[-1]


def _seconds(started: str, ended: str) -> float:
    from datetime import datetime

    return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
