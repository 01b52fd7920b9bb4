"""Find the folder of a case, to capture into or already captured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.agent.captures import Capture, read_capture
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.scoring import AgentScore, CaseScore, ScoreFileError, read_score


def run_folder(suite: AgentSuite) -> RunFolder:
    """The folder of a suite's run: a new one, or the captured one that is scored.

    Raises:
        TargetError: None of the captured runs is one of this agent.
    """
    options = suite.options
    if options.mode != "score_only":
        root = Path(suite.settings.runs) if suite.settings.runs is not None else options.runs_root
        return RunFolder.of(root, suite.manifest.name, options.run_id)
    found = of_agent(options.score_only, suite.manifest.name)
    if found is None:
        message = _not_found("--mcpeval-score-only", options.score_only, suite.manifest.name)
        raise TargetError(message, cause=f"captured run of {suite.key}")
    return found


def of_agent(directories: Iterable[Path], agent: str) -> RunFolder | None:
    """The run of an agent among folders of runs."""
    for directory in directories:
        if directory.is_dir() and agent_of(directory) == agent:
            return RunFolder(directory.resolve())
    return None


def check_one_of_each_agent(directories: Iterable[Path]) -> None:
    """Raise if two runs of the same agent are named.

    Raises:
        ValueError: Two are of the same agent; the text says which.
    """
    first: dict[str, Path] = {}
    for directory in directories:
        agent = agent_of(directory)
        other = first.setdefault(agent, directory)
        if other.resolve() != directory.resolve():
            raise ValueError(f"{other} and {directory} are both runs of the agent {agent!r}: name one")


def agent_of(directory: Path) -> str:
    """Return the agent of a captured run: from its files, else from the name of its parent folder."""
    models = dict.fromkeys(sorted(directory.glob("*/score.json")), CaseScore)
    for path, model in {directory / "score.json": AgentScore, **models}.items():
        with suppress(ScoreFileError):
            score = read_score(path)
            # The folder of all runs and that of a case hold scores as well, each of the other form.
            if isinstance(score, model):
                return score.agent_name
    agents = (capture.agent for capture in _captures(directory) if capture.agent is not None)
    return next(agents, directory.resolve().parent.name)


def run_id_of(directory: Path) -> str:
    """The id of a captured run: as its captures say, where they agree, else as its folder is named."""
    found = {capture.run_id for capture in _captures(directory) if capture.run_id is not None}
    return found.pop() if len(found) == 1 else directory.resolve().name


def _captures(directory: Path) -> Iterator[Capture]:
    for path in sorted(directory.glob("*/trace/capture.json")):
        with suppress(ValueError):
            found = read_capture(CaseFolder(path.parent.parent))
            if found is not None:
                yield found


def _not_found(option: str, directories: Iterable[Path], agent: str) -> str:
    listed = ", ".join(map(str, directories))
    return (
        f"{option}: none of these is a run of the agent {agent!r}: {listed}. "
        f"Expected the folder of a run such as runs/{agent}/20260131T120000Z-1a2b3c, or a copy of one"
    )


def baseline_folder(suite: AgentSuite) -> RunFolder | None:
    """The run with which a suite is compared: that of the command line, else of the settings.

    Raises:
        TargetError: One is named, and there is none of this agent.
    """
    agent = suite.manifest.name
    option, directories = "--mcpeval-baseline-run", suite.options.baseline_runs
    if not directories and suite.settings.baseline_run is not None:
        option, directories = "baseline_run", (Path(suite.settings.baseline_run),)
    if not directories:
        return None
    found = of_agent(directories, agent)
    if found is None:
        raise TargetError(_not_found(option, directories, agent))
    return found


def captured_folder(suite: AgentSuite, case_id: str) -> CaseFolder:
    """The folder of a case that was captured before.

    Raises:
        TargetError: It is not there.
    """
    folder = run_folder(suite).case(case_id)
    if not folder.trace.is_dir():
        raise TargetError(
            f"the run {folder.path.parent} has no case {case_id!r}: it was not captured; run it without "
            "--mcpeval-score-only"
        )
    return folder


def left_unscored(suite: AgentSuite, folder: RunFolder) -> str:
    """Return where captured but unscored cases are, and the command that scores them."""
    return (
        f"agent {suite.manifest.name}: captured but not scored, in {folder.path}: "
        f"pytest --mcpeval {suite.key} --mcpeval-score-only={folder.path}"
    )
