"""A checked labelled corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.fields import given
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.security.categories import HARD_NEGATIVE

if TYPE_CHECKING:
    from pytest_mcpeval.core.sample import Sample
    from pytest_mcpeval.kinds.security.schema import DetectorGatesModel, SecuritySettings

Label = Literal["malicious", "benign"]


@dataclass(frozen=True)
class Entry:
    """A tool description with its label.

    ``seen`` is all that a detector gets: ``description``, and perhaps ``server``, ``tool`` (``name``,
    ``description``, ``input_schema``, and of a live tool ``title``, ``output_schema`` and
    ``annotations``), ``peers`` (tools of other servers) and ``previous`` (the description as it was
    before). It contains neither label nor id, since ids hint at labels.
    """

    id: str
    label: Label
    category: str
    seen: Mapping[str, Any]
    source: str = ""
    license: str = ""
    split: str | None = None
    language: str | None = None
    resembles: str | None = None
    counterpart: str | None = None
    notes: str = ""

    @property
    def is_malicious(self) -> bool:
        """Whether a detector should flag it."""
        return self.label == "malicious"

    @property
    def is_hard_negative(self) -> bool:
        """Whether it is harmless and looks like an attack."""
        return self.category == HARD_NEGATIVE

    @property
    def description(self) -> str:
        """The description that is judged."""
        return str(self.seen["description"])

    def as_data(self) -> dict[str, Any]:
        """Return what the digest of a corpus covers: all that is measured, and the groups."""
        return {
            "id": self.id,
            "label": self.label,
            "category": self.category,
            "seen": self.seen,
            "split": self.split,
            "language": self.language,
            "resembles": self.resembles,
            "counterpart": self.counterpart,
        }


@dataclass(frozen=True)
class SecuritySpec:
    """One case: ask one detector about one entry."""

    detector: str
    entry: Entry


@dataclass(frozen=True)
class AttackCorpus:
    """The entries of a corpus that are measured, in the order of their file."""

    entries: tuple[Entry, ...]
    version: str = ""

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` of the entries; settings, provenance and layout do not count."""
        return digest_of([entry.as_data() for entry in self.entries])


@dataclass(frozen=True, kw_only=True)
class SecuritySuite(Suite[SecuritySpec]):
    """A corpus file, loaded. ``recorded`` maps a detector to its recorded verdicts, run by run."""

    settings: SecuritySettings
    corpus: AttackCorpus
    recorded: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    def gates_of(self, detector: str) -> DetectorGatesModel:
        """Return the gates of a detector: the common ones, overridden by its own."""
        gates = self.settings.gates
        own = gates.detectors.get(detector)
        return gates if own is None else gates.model_copy(update=given(own))

    def set_aside(self, detector: str, samples: Iterable[Sample]) -> frozenset[str]:
        """Return the entries that were skipped or xfailed for a detector."""
        aside = {sample.id for sample in samples if sample.is_set_aside}
        return frozenset(one.id for one in self.corpus.entries if case_id(detector, one.id) in aside)

    @property
    def judged(self) -> tuple[Entry, ...]:
        """The entries that gates are judged on."""
        split = self.settings.gates.split
        return tuple(entry for entry in self.corpus.entries if split in (None, entry.split))


def case_id(detector: str, entry: str) -> str:
    """Return the id of the case of a detector and an entry. ``pytest -v`` would show a dot as ``::``."""
    return f"{detector}-{entry}"


def attack_categories(entries: Iterable[Entry]) -> list[str]:
    """The categories of malicious entries, sorted."""
    return sorted({entry.category for entry in entries if entry.is_malicious})
