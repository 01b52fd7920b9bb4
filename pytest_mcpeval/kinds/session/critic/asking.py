"""Ask a critic: a function, a fixture, a program, a language model, or a file with its output."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.session.critic.settings import CriticModel
from pytest_mcpeval.kinds.session.language_model import language_model
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.servers.modules import ImportProblem, described
from pytest_mcpeval.servers.processes import ProcessFiles, end_launched, launch
from pytest_mcpeval.servers.variables import expanded
from pytest_mcpeval.targets.base import AnswerError, Codec, Target
from pytest_mcpeval.targets.functions import FixtureTarget, PythonTarget
from pytest_mcpeval.targets.threads import EventLoop, Late
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import clipped

INSTRUCTIONS = """\
You are a friction critic. Somebody else used a set of MCP servers to carry out scenarios, and every call was
recorded. You look for the friction that the servers caused; you defend nobody, and you trust no justification
that the transcript does not bear out.

Dimensions:
- glue_code: calls of other tools or detours that a server's tool should have made unnecessary
- redundant_calls: calls that brought nothing new
- response_shape: results that are too large, too small, or now of one shape and now of another
- parameter_inference: parameters that had to be guessed, tried again, or made from other values
- cross_mcp: values of one server that do not fit another

Write Markdown. Each finding is exactly:

### [SEVERITY] dimension: one sentence
MCP: <name of the server, or cross-mcp>
Evidence: <ids of transcript entries, separated by commas>
Recommendation: <what the author of the server should change>

SEVERITY is CRITICAL, MAJOR, MINOR or SUGGESTION. Details may follow as prose. Cite only ids that stand in the
transcript. When the configuration or the tools of a server cannot be read, write one line that begins with
"Manifest unreadable:". End with a section "## Summary", even when there is nothing to criticise.
"""

_TEMPLATE = """\
Transcript: {transcript}
State: {state}
Attached MCPs: {servers}

Begin with the transcript and the state; write nothing before you know both. The state says how each
scenario ended: one that was aborted or failed is no praise of a server, whatever it did not show. Each server
has its configuration at `source`. Where you can open it, look up what its tools promise and which parameters
they take, and only then decide how bad a `glue_code` finding is. Keep to the form of your instructions, and
name at least one transcript id as evidence of each finding.
"""


def prompt(transcript: Path, state: Path, servers: Iterable[str]) -> str:
    """The request to a critic; paths are absolute."""
    names = ", ".join(servers)
    return _TEMPLATE.format(transcript=transcript.absolute(), state=state.absolute(), servers=names)


PLACEHOLDER = "{prompt}"
_SHOWN_ERRORS = 2_000


@dataclass(frozen=True)
class CriticRequest:
    """What a critic gets: the request, and the files it names, for critics that cannot read any."""

    prompt: str
    transcript: Path
    state: Path

    def in_full(self) -> str:
        """The request with the contents of the files."""
        files = (("transcript.jsonl", self.transcript), ("state.json", self.state))
        contents = (
            f"<{name}>\n{path.read_text(encoding='utf-8') if path.is_file() else ''}\n</{name}>"
            for name, path in files
        )
        return "\n\n".join((self.prompt, *contents))


def ask_critic(model: CriticModel, request: CriticRequest, fixtures: Mapping[str, Any]) -> str:
    """The raw output of a critic that is not the embedded one.

    Raises:
        TargetError: It cannot be asked, or returned no text in time.
    """
    if model.file is not None:
        try:
            return Path(model.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TargetError(f"critic: cannot read {model.file}: {error}") from None
    if model.command is not None:
        return _command(model.command, model, request)
    if model.model is not None:
        return _language_model(model, request)
    return _function(model, request, fixtures)


def _command(words: list[str], model: CriticModel, request: CriticRequest) -> str:
    """The prompt goes to standard input, unless an argument holds ``{prompt}``."""
    whole = f"{INSTRUCTIONS}\n{request.prompt}"
    name = f"critic command: {' '.join(words)}"
    redactor.publish(model.public)
    try:
        ready = expanded(words, os.environ, "the critic", "command")
    except ServerConfigError as error:
        raise TargetError(str(error)) from None
    filled = [word.replace(PLACEHOLDER, whole) for word in ready]
    with tempfile.TemporaryDirectory(prefix="mcpeval-") as folder:
        files = ProcessFiles.create(Path(folder), "critic", 1)
        definition = ServerDefinition("critic", "stdio", command=filled[0], args=tuple(filled[1:]))
        started = launch(definition, files, os.environ)
        try:
            process = subprocess.Popen(
                [started.command, *started.args],
                cwd=model.directory,
                env={**os.environ, **started.env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise TargetError(f"{name}: cannot be started: {error}") from None
        with process:
            try:
                output, errors = process.communicate(whole if filled == ready else "", model.timeout)
            except subprocess.TimeoutExpired:
                raise TargetError(f"{name}: no output within {model.timeout:g} s") from None
            finally:
                end_launched(process)
        ending = files.ending()
    if ending is not None and ending.exit_code is None:
        raise TargetError(f"{name}: cannot be started: {ending.words}")
    if process.returncode:
        tail = clipped(errors.strip(), _SHOWN_ERRORS)
        raise TargetError(f"{name}: ended with status {process.returncode}\n{tail}")
    return output


def _function(model: CriticModel, request: CriticRequest, fixtures: Mapping[str, Any]) -> str:
    target: Target
    if model.fixture is not None:
        target = FixtureTarget(CODEC, model.fixture, fixtures[model.fixture], model.timeout)
    else:
        assert model.python is not None, "the settings have one way"
        target = PythonTarget(CODEC, model.python, Path(model.directory), model.timeout)
    try:
        target.open()
        found = target.ask({"prompt": f"{INSTRUCTIONS}\n{request.prompt}"})
    except AnswerError as error:
        raise TargetError(f"critic {target.name}: {error.message}") from error
    finally:
        target.close()
    return str(found)


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise AnswerError("answer", f"expected Markdown as a text, found {shown(found)}")
    return found


CODEC = Codec("critic", "review", "prompt", lambda request: (request["prompt"],), _text)


def _language_model(model: CriticModel, request: CriticRequest) -> str:
    name = f"critic model:{model.model}"
    try:
        found = language_model(model.model or "", Path(model.directory))
    except ImportProblem as error:
        raise TargetError(f"{name}: {error}") from error
    from pydantic_ai import Agent

    async def ask() -> str:
        return (await Agent(found, instructions=INSTRUCTIONS).run(request.in_full())).output

    loop = EventLoop("mcpeval-critic-loop")
    try:
        return loop.run(ask(), model.timeout)
    except Late:
        raise TargetError(f"{name}: no output within {model.timeout:g} s") from None
    except Exception as error:
        raise TargetError(f"{name}: {described(error)}") from error
    finally:
        loop.close()
