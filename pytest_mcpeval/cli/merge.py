"""``pytest-mcpeval merge``: the verdict on a run that was made in parts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import collected, root_directory
from pytest_mcpeval.kinds import KIND_OPTIONS
from pytest_mcpeval.text.visible import from_here

if TYPE_CHECKING:
    from pytest_mcpeval.cli.project import Collected
    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.judging_input import SessionState
    from pytest_mcpeval.core.sample import Sample
    from pytest_mcpeval.core.sample_store import SampleStore, Selection
    from pytest_mcpeval.plugin.runtime import Runtime
    from pytest_mcpeval.reports.files import ReportWriter
    from pytest_mcpeval.reports.shard import ShardModel

DESCRIPTION = """\
Judge the union of shards as one run: every gate, every report. Each DIR is the --mcpeval-report directory of
a run of pytest --mcpeval --mcpeval-shard. Run it in a checkout of the project: it collects, without running
anything, what pytest --mcpeval would run there, and each of these cases must be in a shard.

The exit code is that of one whole run: 0, or 1 if something failed. It is 2 if the shards do not belong to
one run of this checkout: cases are missing, shards disagree about a case, or files, settings or versions
differ.
"""


class MergeError(Exception):
    """The shards are not the parts of one run. The text has a line for each problem."""


@dataclass(frozen=True)
class Shard:
    """One shard. ``name`` is its directory as it was given, ``samples`` are by suite and case id."""

    name: str
    model: ShardModel
    samples: Mapping[tuple[str, str], Sample]


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "merge",
        help="judge the shards of a run",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "directories", nargs="+", type=Path, metavar="DIR", help="directory of a shard's report"
    )
    written = "write report.json, report.md and report.html into DIR"
    parser.add_argument("--report", type=Path, metavar="DIR", help=written)
    parser.add_argument("--history", type=Path, metavar="FILE", help="append the run to FILE, as one line")
    for option in KIND_OPTIONS:
        if option.is_report:
            name = f"--{option.name.removeprefix('--mcpeval-')}"
            parser.add_argument(name, dest=option.dest, metavar=option.metavar, help=option.help)
    parser.add_argument("--bless", action="store_true", help="write the baselines of the run")
    parser.add_argument(
        "--paths",
        nargs="+",
        default=[],
        metavar="PATH",
        help="paths of the whole run, relative to the root directory (default: as for pytest without paths)",
    )
    parser.add_argument(
        "--rootdir", type=Path, metavar="DIR", help="root directory of the checkout (default: from here up)"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Judge the union, print its gates and its verdict, and write the reports."""
    from pytest_mcpeval.text.visible import visible

    root = options.rootdir.absolute() if options.rootdir else root_directory(Path.cwd())
    try:
        shards = read_shards(options.directories, root)
        found, store, state = _united(shards, root, options.paths)
        runtime = found.runtime
        others = [one for one in runtime.settings.measuring_options if one.startswith("--mcpeval-retriever")]
        if options.bless and others:
            raise MergeError(f"--bless would commit the numbers of another search: {others[0]}")
    except MergeError as error:
        for line in str(error).splitlines():
            print(visible(f"{options.prog}: {line}"), file=sys.stderr)
        return 2
    return _judged(found, store, state, shards, options)


def _judged(
    found: Collected,
    store: SampleStore,
    state: SessionState,
    shards: Sequence[Shard],
    options: argparse.Namespace,
) -> int:
    from pytest_mcpeval.reports import github

    runtime = found.runtime
    runtime.settings = replace(runtime.settings, bless=options.bless, shard=False)
    evaluation = runtime.evaluate(store, state, is_merged=True)
    writer = _write_reports(evaluation.redacted(), store, shards, found, options)
    _print(evaluation, store, shards)
    if runtime.settings.github:
        for line in github.annotation_lines(evaluation.redacted(), runtime.rootdir):
            print(line)
    for problem in writer.problems:
        print(f"{options.prog}: {problem}", file=sys.stderr)
    lacks_verdict = evaluation.is_partial and runtime.settings.fails_without_verdict
    return int(evaluation.verdict in ("failed", "error") or lacks_verdict or bool(writer.problems))


def read_shards(directories: Sequence[Path], root: Path) -> list[Shard]:
    """The shards in some directories, with the paths of ``root`` in the place of their own.

    Raises:
        MergeError: A directory is given twice, or holds no shard.
    """
    names: dict[Path, Path] = {}
    for directory in directories:
        if (first := names.setdefault(directory.resolve(), directory)) is not directory:
            raise MergeError(f"{from_here(directory)} is given twice (as {from_here(first)})")
    return [_shard(directory, root) for directory in directories]


def _shard(directory: Path, root: Path) -> Shard:
    from pytest_mcpeval.core.baseline import digest_of
    from pytest_mcpeval.core.sample import Sample, to_json
    from pytest_mcpeval.reports.shard import SHARD_FILE, ShardModel

    name, path = from_here(directory), directory / SHARD_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        found = (
            "the report of a run that was not a shard"
            if (directory / "report.json").is_file()
            else "no shard"
        )
        raise MergeError(
            f"{name} holds {found}: run pytest with --mcpeval-shard --mcpeval-report=DIR"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise MergeError(f"{name}: {SHARD_FILE} cannot be read: {error}") from None
    try:
        data = json.loads(text)
        if data.pop("digest") != digest_of(to_json(data)):
            raise MergeError(f"{name}: {SHARD_FILE} was edited or damaged: run the shard again")
        own_root = data["rootdir"]
        text = text.replace(f"{_in_json(own_root)}/", f"{_in_json(str(root))}/")
        model = ShardModel.model_validate_json(text)
        samples = [Sample.of_data(fields) for fields in model.samples]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MergeError(
            f"{name}: {SHARD_FILE} is broken, or of another version of pytest-mcpeval: run the shard again"
        ) from None
    return Shard(name, model, {(sample.suite, sample.id): sample for sample in samples})


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _united(
    shards: Sequence[Shard], root: Path, paths: Sequence[str]
) -> tuple[Collected, SampleStore, SessionState]:
    """The whole run: what it was to run, and the samples and states of all shards.

    Raises:
        MergeError: The shards are not its parts.
    """
    from pytest_mcpeval.core.judging_input import SessionState
    from pytest_mcpeval.core.sample_store import SampleStore

    options = shards[0].model.options
    if problems := [*_other_ways(shards), *_unfinished(shards)]:
        raise MergeError("\n".join(problems))
    try:
        found = collected(root, [*options, *paths])
    except ValueError as error:
        raise MergeError(
            f"what the whole run is cannot be collected in {from_here(root)}:\n{error}"
        ) from None
    problems = [
        *_other_inputs(shards, found.runtime, found.selections),
        *_missing(shards, found.selections),
        *_disagreements(shards),
    ]
    if problems:
        raise MergeError("\n".join(problems))
    samples: dict[str, dict[str, Sample]] = {}
    for shard in shards:
        for (suite, case), sample in shard.samples.items():
            samples.setdefault(suite, {}).setdefault(case, sample)
    state = SessionState(
        failures=sum(shard.model.state.failures for shard in shards),
        others=tuple(sorted({test for shard in shards for test in shard.model.state.others})),
        crashed=frozenset().union(*(shard.model.state.crashed for shard in shards)),
        uncollected=tuple(sorted({file for shard in shards for file in shard.model.state.uncollected})),
        lost_worker=any(shard.model.state.lost_worker for shard in shards),
        exit_status=max(shard.model.state.exit_status for shard in shards),
    )
    return found, SampleStore({one.suite: one for one in found.selections}, samples), state


def _other_ways(shards: Sequence[Shard]) -> Iterator[str]:
    """The shards that another version made, or a run with other options than the first one."""
    from pytest_mcpeval import __version__

    first = shards[0]
    for shard in shards:
        if shard.model.version != __version__:
            own = shard.model.version
            yield f"{shard.name} was made by pytest-mcpeval {own}, but this is {__version__}"
        if shard.model.options != first.model.options:
            given, others = (" ".join(one.model.options) or "no option" for one in (shard, first))
            yield f"{shard.name} was run with {given}, and {first.name} with {others}"


def _unfinished(shards: Sequence[Shard]) -> Iterator[str]:
    for shard in shards:
        if shard.model.state.stopped:
            yield f"{shard.name} was stopped early, by -x, Ctrl-C or an error of collection: run it again"


def _other_inputs(
    shards: Sequence[Shard], runtime: Runtime, selections: Sequence[Selection]
) -> Iterator[str]:
    """The shards that were run on other files or settings than those of the checkout."""
    from pytest_mcpeval.core.sample_store import SampleStore
    from pytest_mcpeval.reports.shard import inputs

    store = SampleStore({one.suite: one for one in selections})
    here = {one.selection.suite: inputs(one, runtime.rootdir) for one in runtime.suite_runs(store)}
    for shard in shards:
        for suite, found in shard.model.inputs.items():
            if suite not in here:
                if shard.model.selected.get(suite):
                    yield f"{shard.name} ran {suite}, which is not collected here: name it with --paths"
                continue
            names = {**found, **here[suite]}
            differing = [name for name in names if found.get(name) != here[suite].get(name)]
            if differing:
                what = ", ".join(differing)
                yield f"{shard.name} was run on another version of {what} than this checkout has"


def _missing(shards: Sequence[Shard], selections: Sequence[Selection]) -> Iterator[str]:
    """The cases that no shard was to run. What one was to run and lost is for the gates, as in one run."""
    from pytest_mcpeval.core.gate import names

    listed = ", ".join(shard.name for shard in shards)
    unknown = False
    for one in selections:
        chosen = {case for shard in shards for case in shard.model.selected.get(one.suite, ())}
        missing = [case for case in one.selected if case not in chosen]
        if missing:
            count = f"{len(missing)} of {len(one.selected)} cases"
            yield f"no shard ran {count} of {one.suite}: {names(missing)} (shards: {listed})"
            unknown = unknown or not any(one.suite in shard.model.selected for shard in shards)
    if unknown:
        yield "where the run was given paths, give them here as well: --paths"


def _disagreements(shards: Sequence[Shard]) -> Iterator[str]:
    """The cases of which two shards report something else."""
    from pytest_mcpeval.reports.json_report import case_of

    for one, other in combinations(shards, 2):
        for (suite, case), sample in one.samples.items():
            second = other.samples.get((suite, case))
            if second is not None and (here := case_of(sample)) != (there := case_of(second)):
                words = f"{sample.outcome} in {one.name}, {second.outcome} in {other.name}"
                if sample.outcome == second.outcome:
                    differing = [key for key in {**here, **there} if here.get(key) != there.get(key)]
                    words = f"{sample.outcome} in both, with other {', '.join(differing)}"
                yield f"{one.name} and {other.name} disagree on {suite}::{case}: {words}"


def _write_reports(
    evaluation: Evaluation,
    store: SampleStore,
    shards: Sequence[Shard],
    found: Collected,
    options: argparse.Namespace,
) -> ReportWriter:
    """Write what was asked for."""
    from pytest_mcpeval.core.declaration import CommandLine
    from pytest_mcpeval.reports import github
    from pytest_mcpeval.reports.files import ReportWriter

    here, is_shown = Path.cwd(), found.runtime.settings.github
    writer = ReportWriter(here, github.step_summary() if is_shown else None)
    command_line = CommandLine(found.runtime.rootdir, here, vars(options).get)
    for kind in found.runtime.kinds.declarations.values():
        for file in kind.report_files(kind.options(command_line)):
            writer.write(file.path, file.text(evaluation))
    started = min(shard.model.run.started for shard in shards)
    seconds = sum(shard.model.run.seconds for shard in shards)
    hook = found.config.hook.pytest_mcpeval_report
    points = writer.add_to_history(
        options.history and here / options.history,
        evaluation,
        found.runtime.suite_runs(store),
        found.runtime.kinds.declarations,
        found.runtime.rootdir,
        started,
    )
    directory = options.report and here / options.report
    writer.write_report(evaluation, hook, directory, started, seconds, points)
    if line := writer.line(directory):
        print(line)
    return writer


def _print(evaluation: Evaluation, store: SampleStore, shards: Sequence[Shard]) -> None:
    from pytest_mcpeval.core.gate import gate_nodeid, names
    from pytest_mcpeval.loading.messages import counted
    from pytest_mcpeval.text.visible import visible

    for gate in evaluation.gates:
        print(visible(f"{gate.verdict.replace('_', ' ').upper()} {gate_nodeid(gate)}\n  {gate.message}"))
    for result in evaluation.suites:
        if result.undecided:
            print(visible(f"WRONG, and no gate decided: {result.key}: {names(result.undecided)}"))
        for shard in shards:
            lost = [
                case for case in shard.model.selected.get(result.key, ()) if case in result.complete.missing
            ]
            if lost:
                print(visible(f"LOST in {shard.name}: {result.key}: {names(lost)}"))
    for note in evaluation.notes:
        print(visible(note))
    count = sum(len(samples) for samples in store.samples.values())
    print(f"merged {counted(len(shards), 'shard')} with {counted(count, 'case')}")
    print(visible(f"mcpeval: {evaluation.verdict.replace('_', ' ')}: {evaluation.reason}"))
