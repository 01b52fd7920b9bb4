"""Document → labelled corpus: returns its entries, or raises all problems of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.case import Case, id_problems
from pytest_mcpeval.core.fields import LONGEST_ID, vacuous
from pytest_mcpeval.core.suite import Place
from pytest_mcpeval.kinds.loader import SuiteLoader
from pytest_mcpeval.kinds.security.categories import ATTACKS, HARD_NEGATIVE, HARMLESS, resembled
from pytest_mcpeval.kinds.security.corpus_checks import twins, warnings
from pytest_mcpeval.kinds.security.recorded import read_recorded
from pytest_mcpeval.kinds.security.schema import CorpusModel, DetectorGatesModel, EntryModel, SecuritySettings
from pytest_mcpeval.kinds.security.spec import (
    AttackCorpus,
    Entry,
    SecuritySpec,
    SecuritySuite,
    attack_categories,
    case_id,
)
from pytest_mcpeval.loading import DataFileError, Document, garbage_collection_paused
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.loading.schema import validate


def load_suite(document: Document, place: Place) -> SecuritySuite:
    """The corpus in a document.

    Raises:
        DataFileError: With every problem of the file, or of recorded verdicts it is measured with.
    """
    with garbage_collection_paused():
        model = validate(CorpusModel, document)
        return _Loader(document, place, model, SecuritySettings, "entries").suite()


class _Loader(SuiteLoader[CorpusModel, SecuritySettings]):
    """Turns a validated corpus into entries, and collects problems that the schema cannot detect."""

    def suite(self) -> SecuritySuite:
        # An entry is not a case: there is one case for each entry and detector.
        ids = ((entry.id, ("entries", index)) for index, entry in enumerate(self.model.entries))
        self.problems += id_problems(self.document, ids)
        self._find_twins()
        self._check_own_licenses()
        by_id = {entry.id: entry for entry in self.model.entries}
        for index, entry in enumerate(self.model.entries):
            self._check_entry(index, entry)
            if entry.counterpart is not None:
                self._check_counterpart(index, entry, by_id.get(entry.counterpart))
        everything = tuple(_entry(model) for model in self.model.entries)
        chosen = self._chosen(everything)
        self._check_detectors(chosen)
        self._check_case_ids(chosen)
        self._check_gates(chosen)
        self.raise_problems()
        recorded = self._recorded([entry.id for entry in everything])
        self.raise_problems()
        corpus = AttackCorpus(chosen, "" if self.model.version is None else str(self.model.version))
        lines = {entry.id: index for index, entry in enumerate(self.model.entries)}
        return SecuritySuite(
            key=self.place.key,
            kind="security",
            document=self.document,
            cases=tuple(
                self._case(name, lines[entry.id], entry)
                for name in self.settings.detectors
                for entry in chosen
            ),
            settings=self.settings,
            servers=self.place.servers,
            concurrency=self.settings.concurrency,
            batch=self.settings.batch,
            runs=max([self.settings.runs, *map(len, recorded.values())]),
            warnings=tuple(warnings(everything)),
            origin=self.place_of("detectors"),
            corpus=corpus,
            recorded=recorded,
        )

    def _find_twins(self) -> None:
        entries = self.model.entries
        for index, first in twins(entries):
            line = self.document.line("entries", first)
            message = (
                f"{shown(entries[index].id)} is the same as {shown(entries[first].id)} on line {line} in "
                "everything a detector sees: remove one"
            )
            self.problem("entries", index, message=message)

    def _check_entry(self, index: int, entry: EntryModel) -> None:
        at = ("entries", index)
        is_harmless = entry.category in HARMLESS
        if is_harmless and entry.label == "malicious":
            message = f"category: {shown(entry.category)} is for benign entries, but the label is malicious"
            self.problem(*at, "category", message=message)
        if entry.category in ATTACKS and entry.label == "benign":
            message = (
                f"category: {shown(entry.category)} is an attack, but the label is benign: a harmless entry "
                f"that looks like one has the category {HARD_NEGATIVE} and `resembles: {entry.category}`"
            )
            self.problem(*at, "category", message=message)
        if entry.resembles is not None and entry.category != HARD_NEGATIVE:
            message = f"resembles: is for entries of the category {HARD_NEGATIVE}"
            self.problem(*at, "resembles", message=message)
        self._check_license(index, entry)

    def _check_counterpart(self, index: int, entry: EntryModel, other: EntryModel | None) -> None:
        found = f"counterpart: {shown(entry.counterpart)}"
        if other is None:
            message = f"{found} is not an entry of this corpus"
        elif other.label == entry.label:
            message = f"{found} is {other.label} as well: a counterpart has the other label"
        elif other.counterpart != entry.id:
            message = f"{found} does not name this entry in return: write `counterpart: {entry.id}` there"
        else:
            return
        self.problem("entries", index, "counterpart", message=message)

    def _check_own_licenses(self) -> None:
        """A corpus must not allow additional licences itself: the check would be useless."""
        if "licenses" not in self.model.model_fields_set:
            return
        allowed = {
            name.casefold() for name in self.place.settings.get("licenses", SecuritySettings().licenses)
        }
        for index, name in enumerate(self.model.licenses):
            if name.casefold() not in allowed:
                message = f"licenses: a corpus cannot allow {shown(name)} itself: only mcpeval.yaml can"
                self.problem("licenses", index, message=message)

    def _check_license(self, index: int, entry: EntryModel) -> None:
        allowed = self.settings.licenses
        found = "" if entry.provenance is None else entry.provenance.license
        if not found or _as_compared(found) in map(_as_compared, allowed):
            return
        message = (
            f"provenance.license: {shown(found)} is not known to allow redistribution"
            f"{suggestion(found, allowed)}: do not put such a corpus into the repository, but name it as an "
            f"external benchmark; or add the licence to `licenses` in mcpeval.yaml{self.origin('licenses')}"
        )
        self.problem("entries", index, "provenance", "license", message=message)

    def _chosen(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries that are run: all, or those of the split."""
        split = self.settings.split
        chosen = tuple(entry for entry in entries if split in (None, entry.split))
        self._check_labels(chosen, split, "split" if split else "entries")
        judged = self.settings.gates.split
        if judged is not None and judged != split:
            part = [entry for entry in chosen if entry.split == judged]
            self._check_labels(tuple(part), judged, "gates")
        return chosen

    def _check_labels(self, entries: tuple[Entry, ...], split: str | None, setting: str) -> None:
        labels = {entry.label for entry in entries}
        where = "" if split is None else f" with `split: {split}`"
        if "benign" not in labels:
            message = f"no entry{where} has the label benign, so there is no false-positive rate: add some"
            self.problem(setting, message=message + self.origin(setting))
        if "malicious" not in labels and not self.settings.fpr_only:
            message = (
                f"no entry{where} has the label malicious, so there is no recall: add some, or set "
                "`fpr_only: true` to measure false alarms alone"
            )
            self.problem(setting, message=message + self.origin(setting))
        if "malicious" in labels and self.settings.fpr_only:
            entry = next(entry for entry in entries if entry.is_malicious)
            message = (
                f"fpr_only: {shown(entry.id)} is malicious, and then recall is measured: remove `fpr_only`"
            )
            self.problem("fpr_only", message=message + self.origin("fpr_only"))

    def _check_detectors(self, entries: tuple[Entry, ...]) -> None:
        longest = max((len(entry.id) for entry in entries), default=0)
        for name, detector in self.settings.detectors.items():
            if detector.mcp is not None:
                self.check_server(detector.mcp.server, "detectors", name, "mcp", "server")
            if longest + len(name) + 1 > LONGEST_ID:
                message = (
                    f"detectors: {shown(name)} and an id of {longest} characters make an item name of more"
                )
                message += f" than {LONGEST_ID}: shorten one of them{self.origin('detectors')}"
                self.problem("detectors", name, message=message)

    def _check_case_ids(self, entries: tuple[Entry, ...]) -> None:
        """Report equal item names, such as of detector ``a-b`` on ``c`` and ``a`` on ``b-c``."""
        seen: dict[str, tuple[str, str]] = {}
        for detector in self.settings.detectors:
            for entry in entries:
                first = seen.setdefault(case_id(detector, entry.id), (detector, entry.id))
                if first != (detector, entry.id) and first[0] != detector:
                    message = (
                        f"detectors: {shown(detector)} with {shown(entry.id)} and {shown(first[0])} with "
                        f"{shown(first[1])} make the same item name: rename one{self.origin('detectors')}"
                    )
                    self.problem("detectors", detector, message=message)

    def _check_gates(self, entries: tuple[Entry, ...]) -> None:
        gates = self.settings.gates
        categories = attack_categories(entries)
        floors = [("category_floors", name) for name in gates.category_floors]
        for detector, own in gates.detectors.items():
            if detector not in self.settings.detectors:
                known = choice(self.settings.detectors)
                message = f"gates.detectors: there is no detector {shown(detector)}: expected {known}"
                self.problem("gates", "detectors", detector, message=message + self.origin("gates"))
            floors += [(f"detectors.{detector}.category_floors", name) for name in own.category_floors]
        self._check_limits(entries)
        for place, name in floors:
            if name not in categories:
                hint = suggestion(name, categories)
                message = f"gates.{place}: no malicious entry has the category {shown(name)}{hint}"
                self.problem("gates", *place.split("."), name, message=f"{message}{self.origin('gates')}")

    def _check_limits(self, entries: tuple[Entry, ...]) -> None:
        """Report limits that this many entries cannot exceed."""
        gates = self.settings.gates
        judged = [entry for entry in entries if gates.split in (None, entry.split)]
        malicious = sum(entry.is_malicious for entry in judged)
        counts = {
            "max_errors": len(judged),
            "max_newly_missed": malicious,
            "max_new_false_alarms": len(judged) - malicious,
        }
        models: dict[tuple[str, ...], DetectorGatesModel] = {("gates",): gates}
        models |= {("gates", "detectors", name): own for name, own in gates.detectors.items()}
        for at, model in models.items():
            if self.settings.fpr_only and model.recall_floor is not None:
                message = (
                    f"{'.'.join((*at, 'recall_floor'))}: recall is not measured with `fpr_only`: remove it"
                )
                self.problem(*at, "recall_floor", message=message + self.origin("gates"))
            for name, count in counts.items():
                limit = getattr(model, name)
                if name in model.model_fields_set and isinstance(limit, int) and limit >= count > 0:
                    message = f"{'.'.join((*at, name))}: {vacuous(limit)}: expected less than {count}"
                    message += "" if name == "max_errors" else ", or null for no such gate"
                    self.problem(*at, name, message=message + self.origin("gates"))

    def _recorded(self, wanted: list[str]) -> dict[str, tuple[Mapping[str, Any], ...]]:
        found: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for name, detector in self.settings.detectors.items():
            files = []
            for path in detector.verdict_files:
                try:
                    recorded_as = detector.recorded_as or name
                    files.append(read_recorded(Path(path), recorded_as, self.document.path.name, wanted))
                except DataFileError as error:
                    self.problems += error.problems
            if files:
                found[name] = tuple(files)
        self._check_runs(found)
        return found

    def _check_runs(self, recorded: Mapping[str, tuple[Mapping[str, Any], ...]]) -> None:
        counts = {name: len(files) for name, files in recorded.items() if len(files) > 1}
        wanted = {self.settings.runs} if self.settings.runs > 1 else set()
        if len(wanted | set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in counts.items())
            message = f"detectors: one file of verdicts for each run is needed, and {said}"
            runs = f"; `runs` is {self.settings.runs}" if self.settings.runs > 1 else ""
            self.problem("detectors", message=f"{message}{runs}{self.origin('detectors')}")

    def _case(self, detector: str, index: int, entry: Entry) -> Case[SecuritySpec]:
        at = ("entries", index)
        fixture = self.settings.detectors[detector].fixture
        traits = {
            "tags": (entry.category, *([f"like-{entry.resembles}"] if entry.resembles else [])),
            "detector": detector,
            "label": entry.label,
            "split": entry.split,
            "language": entry.language,
        }
        return Case(
            id=case_id(detector, entry.id),
            line=self.document.line(*at),
            keys=at,
            make_spec=lambda: SecuritySpec(detector, entry),
            # The groups of a case: `-m shadowing`, `-m malicious`, `--mcpeval-tag hard_negative`.
            traits={name: value for name, value in traits.items() if value},
            fixtures=() if fixture is None else (fixture,),
            may_prefetch=fixture is None,
        )


def _as_compared(license: str) -> str:
    """Return a licence in normalized form: ``Apache 2.0`` equals ``Apache-2.0``."""
    return re.sub(r"[\s_]+", "-", license.casefold())


def _entry(model: EntryModel) -> Entry:
    is_hard_negative = model.category == HARD_NEGATIVE
    return Entry(
        id=model.id,
        label=model.label,
        category=model.category,
        seen=model.seen(),
        source=model.provenance.source if model.provenance else "",
        license=model.provenance.license if model.provenance else "",
        split=model.split,
        language=model.language,
        resembles=(model.resembles or resembled(model.id)) if is_hard_negative else None,
        counterpart=model.counterpart,
        notes=model.notes,
    )
