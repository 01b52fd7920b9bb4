"""What a detector answered → a verdict. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from numbers import Real
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from pytest_mcpeval.core.fields import FileModel
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.json_paths import PathText, nodes
from pytest_mcpeval.targets.base import AnswerError, field_of, outline

MOST_DETECTIONS = 1_000
"""Maximum number of detections of a verdict that are kept."""

EXPECTED = "expected true, false, or a mapping with `flagged`"

FieldPath = Annotated[str, StringConstraints(pattern=r"^\w[\w-]*(\.\w[\w-]*)*$")]

_RULE_KEYS = ("rule", "rule_id", "ruleId", "id", "name", "type", "category")
_MESSAGE_KEYS = ("message", "description", "title", "summary", "explanation")


@dataclass(frozen=True)
class Detection:
    """Why a detector flagged an entry.

    ``span`` is where: characters of the text ``field`` (such as ``description`` or
    ``tool.input_schema.properties.path.description``), from and up to, counted from 0.
    """

    rule: str
    message: str = ""
    severity: str | None = None
    field: str = "description"
    span: tuple[int, int] | None = None

    def as_data(self) -> dict[str, Any]:
        """Return the detection as plain data, without missing fields."""
        found = asdict(self)
        return {name: value for name, value in found.items() if value not in (None, "")}


@dataclass(frozen=True)
class Verdict:
    """A detector's verdict on one entry. A higher ``score`` means a more certain attack.

    ``left_out`` is the number of detections that are not kept.
    """

    flagged: bool
    score: float | None = None
    severity: str | None = None
    detections: tuple[Detection, ...] = ()
    left_out: int = 0

    def as_data(self) -> dict[str, Any]:
        """The verdict as plain data."""
        found = {
            "flagged": self.flagged,
            "score": self.score,
            "severity": self.severity,
            "detections": [detection.as_data() for detection in self.detections],
        }
        return {**found, "detections_left_out": self.left_out} if self.left_out else found


class VerdictFields(FileModel):
    """Where the verdict is in a JSON answer: dotted fields of the value at ``result``."""

    result: PathText = Field(default="$", description="JSONPath of the verdict")
    flagged: FieldPath = Field(
        default="flagged",
        description="field that is true, a number other than 0, or a list that is not empty",
    )
    score: FieldPath = Field(default="score", description="field that holds a score")
    severity: FieldPath = Field(default="severity", description="field that holds a severity")
    detections: FieldPath = Field(default="detections", description="field that holds a list of detections")

    def verdict(self, answer: Any) -> Verdict:
        """Return the verdict in an answer.

        Raises:
            AnswerError: There is none.
        """
        found = nodes(self.result, answer)
        if len(found) != 1:
            count = "nothing" if not found else f"{len(found)} values"
            raise AnswerError("answer", f"the answer has {count} at {self.result}; it is {outline(answer)}")
        value = found[0][1]
        if not isinstance(value, Mapping):
            return verdict_of(value)
        names = {"score": self.score, "severity": self.severity, "detections": self.detections}
        fields = {name: field_of(value, path, None) for name, path in names.items()}
        flagged = field_of(value, self.flagged, None)
        if self.flagged != "flagged" and _is_count(flagged):
            flagged = bool(flagged)
        # If a field is named, only that field counts.
        kept = ("error", "max_severity") if self.severity == "severity" else ("error",)
        others = {key: value[key] for key in kept if key in value}
        return verdict_of({**fields, "flagged": flagged, **others})


def _is_count(value: Any) -> bool:
    """Return whether it is a list or a finite number: NaN and infinity mean neither yes nor no."""
    return isinstance(value, (list, int)) or (isinstance(value, float) and math.isfinite(value))


def verdict_of(answer: Any) -> Verdict:
    """Return the verdict in what a detector returned: a truth value, or a mapping with ``flagged``.

    Unknown keys are ignored. ``max_severity`` is read as ``severity``.

    Raises:
        AnswerError: It is not a verdict, or it says that the detector failed.
    """
    if isinstance(answer, Verdict):
        return answer
    if _is_truth_value(answer):
        return Verdict(bool(answer))
    if not isinstance(answer, Mapping):
        raise AnswerError("answer", f"returned {outline(answer)}: {EXPECTED}")
    if answer.get("error"):
        raise AnswerError("raised", f"the detector reported an error: {shown(answer['error'])}")
    flagged = answer.get("flagged")
    if not _is_truth_value(flagged):
        found = "no `flagged`" if "flagged" not in answer else f"`flagged` is {outline(flagged)}"
        raise AnswerError("answer", f"a verdict of which {found}: {EXPECTED} that is true or false")
    detections = _detections(answer)
    kept = tuple(_detection(one) for one in islice(detections, MOST_DETECTIONS))
    severity = next(
        (answer[key] for key in ("severity", "max_severity") if answer.get(key) is not None), None
    )
    severity = None if severity is None else str(severity)
    return Verdict(bool(flagged), _score(answer), severity, kept, len(detections) - len(kept))


def _is_truth_value(value: Any) -> bool:
    """Return whether it is true or false.

    Numpy's truth values count, since comparisons of its numbers return them.
    """
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def verdicts_of(answer: Any, count: int) -> list[Verdict | AnswerError]:
    """Return the verdicts in what a batch detector returned for ``count`` entries, in their order.

    Raises:
        AnswerError: It is not a list of ``count`` verdicts.
    """
    if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Sequence):
        raise AnswerError("answer", f"returned {outline(answer)}, expected a list of {count} verdicts")
    if len(answer) != count:
        raise AnswerError("answer", f"returned {len(answer)} verdicts for {count} entries")
    found: list[Verdict | AnswerError] = []
    for one in answer:
        try:
            found.append(verdict_of(one))
        except AnswerError as error:
            found.append(error)
    return found


def _score(answer: Mapping[str, Any]) -> float | None:
    score = answer.get("score")
    if score is None:
        return None
    try:
        number = float(score) if isinstance(score, Real) and not isinstance(score, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise AnswerError("answer", f"a verdict whose `score` is {outline(score)}, expected a finite number")
    return number


def _detections(answer: Mapping[str, Any]) -> Sequence[Any]:
    found = answer.get("detections") or ()
    if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Sequence):
        raise AnswerError("answer", f"a verdict whose `detections` are {outline(found)}, expected a list")
    return found


def _detection(value: Any) -> Detection:
    if isinstance(value, Detection):
        return value
    if not isinstance(value, Mapping):
        return Detection(str(value))
    rule = _first_text(value, _RULE_KEYS) or "unnamed"
    message = _first_text(value, _MESSAGE_KEYS)
    severity = value.get("severity")
    field = value.get("field")
    return Detection(
        rule,
        "" if message == rule else message,
        None if severity is None else str(severity),
        field if isinstance(field, str) and field else "description",
        _span(value),
    )


def _first_text(value: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((value[key] for key in keys if isinstance(value.get(key), str) and value[key]), "")


def _span(value: Mapping[str, Any]) -> tuple[int, int] | None:
    span = value.get("span", [value.get("start"), value.get("end")])
    if not isinstance(span, Sequence) or isinstance(span, str) or len(span) != 2:
        return None
    start, end = span
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in span) or not 0 <= start < end:
        return None
    return start, end
