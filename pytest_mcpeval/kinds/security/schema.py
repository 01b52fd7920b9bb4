"""The shapes of labelled corpora and their settings. camelCase is read as well."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from pytest_mcpeval.core.fields import (
    FILE_MODEL,
    BaselinePath,
    BatchSize,
    CaseId,
    Ceiling,
    Concurrency,
    FileModel,
    Floor,
    RowModel,
    Runs,
    Seconds,
    Text,
)
from pytest_mcpeval.kinds.security.categories import BENIGN
from pytest_mcpeval.kinds.security.detectors.settings import DetectorModel, DetectorSetting

DEFAULT_CEILING = 0.10

REDISTRIBUTABLE = (
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
    "Unlicense",
    "Zlib",
    "self-authored",
)
"""Licences that allow redistribution, by SPDX name; self-authored texts need none."""

Category = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,59}$")]
DetectorName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,29}$")]
Split = Literal["tune", "test"]
Count = Annotated[int, Field(ge=0)]
Mode = Literal["point", "bound"]


class ProvenanceModel(FileModel):
    """``provenance:`` of an entry: its source and licence. Other keys are remarks."""

    model_config = ConfigDict({**FILE_MODEL, "extra": "allow"})

    source: Text
    license: Text


class ToolModel(FileModel):
    """``tool:`` of an entry, or of a peer."""

    name: Text
    description: str | None = None
    input_schema: dict[str, Any] | None = None


def _two(key: str) -> str:
    return f"`{key}` and that of `tool` differ: a detector would see two"


class PeerModel(FileModel):
    """One entry of ``peers:``, a tool of another server."""

    server: Text
    tool: Text | ToolModel | None = None
    name: Text | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_named(self) -> PeerModel:
        if (self.tool is None) == (self.name is None):
            raise ValueError("a peer is named once: by `tool`")
        of_tool = self.tool if isinstance(self.tool, ToolModel) else None
        for key in ("description", "input_schema"):
            outer, inner = getattr(self, key), getattr(of_tool, key, None)
            if None not in (outer, inner) and outer != inner:
                raise ValueError(_two(key))
        return self

    def as_data(self) -> dict[str, Any]:
        """The peer as a detector sees it: ``server``, ``tool``, ``description``, perhaps ``input_schema``."""
        tool = self.tool if isinstance(self.tool, ToolModel) else None
        schema = tool.input_schema if tool and tool.input_schema is not None else self.input_schema
        found: dict[str, Any] = {
            "server": self.server,
            "tool": tool.name if tool else self.tool or self.name,
            "description": self.description or (tool.description if tool else None) or "",
        }
        return found if schema is None else {**found, "input_schema": schema}


class EntryModel(RowModel):
    """One entry of ``entries:``. A benign one needs no category and no provenance."""

    id: CaseId
    description: str = ""
    label: Literal["malicious", "benign"]
    category: Category = BENIGN
    provenance: ProvenanceModel | None = None
    server: Text | None = None
    tool: Text | ToolModel | None = None
    peers: list[PeerModel] | None = None
    previous: str | None = Field(default=None, description="the description that was approved earlier")
    split: Split | None = None
    language: Text | None = None
    resembles: Category | None = Field(default=None, description="the attack that a hard negative looks like")
    counterpart: CaseId | None = Field(
        default=None, description="the entry with the opposite label that was written as a pair with this one"
    )
    notes: str = ""

    @model_validator(mode="after")
    def _is_labelled_in_full(self) -> EntryModel:
        if self.label == "malicious" and "category" not in self.model_fields_set:
            raise ValueError('missing required key "category"')
        if self.label == "malicious" and self.provenance is None:
            raise ValueError('missing required key "provenance"')
        return self

    @model_validator(mode="after")
    def _has_one_description(self) -> EntryModel:
        of_tool = self.tool.description if isinstance(self.tool, ToolModel) else None
        if self.description and of_tool and of_tool != self.description:
            raise ValueError(_two("description"))
        if not (self.description or self.tool or self.peers or self.previous):
            raise ValueError(
                "there is nothing that a detector could see: expected a `description` or a `tool`"
            )
        return self

    def seen(self) -> dict[str, Any]:
        """What a detector is given."""
        tool = self.tool if isinstance(self.tool, ToolModel) else None
        description = self.description or (tool.description if tool else None) or ""
        found: dict[str, Any] = {"description": description, "server": self.server}
        if tool is not None:
            found["tool"] = {"name": tool.name, "description": description}
            if tool.input_schema is not None:
                found["tool"]["input_schema"] = tool.input_schema
        elif self.tool is not None:
            found["tool"] = {"name": self.tool, "description": description}
        found["peers"] = [peer.as_data() for peer in self.peers] if self.peers is not None else None
        found["previous"] = self.previous
        return {name: value for name, value in found.items() if value is not None}


class DetectorGatesModel(FileModel):
    """Gates of one detector."""

    fpr_ceiling: Ceiling | None = Field(
        default=DEFAULT_CEILING, description="the highest false-positive rate allowed"
    )
    recall_floor: Floor | None = Field(default=None, description="the lowest recall allowed")
    mode: Mode = Field(
        default="point", description="point: the rate itself holds; bound: its one-sided 95 % limit does"
    )
    max_errors: Count = Field(default=0, description="number of entries on which a detector may fail")
    max_newly_missed: Count | Literal["chance"] | None = Field(
        default="chance",
        description="malicious entries that the baseline flags and may be missed now; default: as many as "
        "chance explains",
    )
    max_new_false_alarms: Count | Literal["chance"] | None = Field(
        default="chance",
        description="benign entries that the baseline does not flag and may be flagged now; default: as many "
        "as chance explains",
    )
    category_floors: dict[Category, Floor | None] = Field(
        default={}, description="category → its lowest recall"
    )


class GatesModel(DetectorGatesModel):
    """``gates:`` of a corpus: for all detectors, and for single ones."""

    split: Split | None = Field(
        default=None, description="only entries of this split are judged; all are reported"
    )
    detectors: dict[DetectorName, DetectorGatesModel] = Field(
        default={}, description="detector → gates for it alone"
    )


class SecuritySettings(FileModel):
    """The settings of a corpus; an entry of ``security:`` in ``mcpeval.yaml``."""

    detectors: Annotated[dict[DetectorName, DetectorSetting], Field(min_length=1)] = Field(
        default_factory=lambda: {"heuristics": DetectorModel.model_validate({"heuristics": {}})},
        description="name → detector",
        json_schema_extra={"default": {"heuristics": "heuristics"}},
    )
    baseline: BaselinePath = Field(default=None, description="file of committed verdicts")
    split: Split | None = Field(
        default=None, description="only entries of this split are run; default: all entries"
    )
    fpr_only: bool = Field(default=False, description="all entries are benign: recall is not measured")
    strict: bool = Field(
        default=False,
        description="a wrong verdict fails its item, instead of leaving the decision to the gates",
    )
    concurrency: Concurrency = Field(default=1, description="entries in flight at once")
    batch: BatchSize = Field(default=1, description="entries in one item")
    runs: Runs = Field(
        default=1, description="how many times each entry is asked; metrics are computed from the means"
    )
    timeout: Seconds = Field(default=30.0, description="seconds a detector may take for an entry")
    licenses: list[Text] = Field(
        default=list(REDISTRIBUTABLE), description="licences that entries may have (SPDX names)"
    )
    gates: GatesModel = Field(
        default=GatesModel(), description="rules over the whole corpus that can fail the run"
    )


class EntrySettings(SecuritySettings):
    """An entry of ``security:`` in ``mcpeval.yaml``: settings of corpora, or servers to scan."""

    scan: Annotated[list[Text], Field(min_length=1)] = Field(
        default=[], description="instead of files: servers whose live tools the detectors are run on"
    )


class CorpusModel(RowModel, SecuritySettings):
    """A whole corpus file. Its settings override ``mcpeval.yaml``."""

    kind: Literal["security"] = "security"
    version: Any = None
    generated_from: Any = None
    description: Any = None
    entries: Annotated[list[EntryModel], Field(min_length=1)]
