"""Checks of a corpus that compare its entries with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.gate import names
from pytest_mcpeval.kinds.security.categories import ATTACKS, HARD_NEGATIVE
from pytest_mcpeval.kinds.security.schema import EntryModel
from pytest_mcpeval.kinds.security.spec import Entry, attack_categories
from pytest_mcpeval.loading.messages import choice, shown, suggestion


def twins(entries: Sequence[EntryModel]) -> Iterator[tuple[int, int]]:
    """Yield entries that a detector cannot distinguish from an earlier one, each with that one.

    They would count twice, or contradict each other. `id_problems` reports duplicate ids.
    """
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        first = seen.setdefault(digest_of(_as_compared(entry.seen())), index)
        if first != index and entries[first].id != entry.id:
            yield index, first


def warnings(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield warnings about what a corpus lacks."""
    yield from _without_hard_negative(entries)
    yield from _resembling_nothing(entries)


def _without_hard_negative(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a warning if no hard negative resembles some attack categories."""
    covered = {entry.resembles for entry in entries}
    missing = [category for category in attack_categories(entries) if category not in covered]
    if missing:
        yield (
            f"no hard negative resembles {names(missing)}: false alarms on texts that look "
            f"like them are not measured. Add some with `category: {HARD_NEGATIVE}` "
            f"and `resembles: {missing[0]}`"
        )


def _resembling_nothing(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a warning for each hard negative that resembles an unknown attack: it forms a separate group."""
    known = sorted({*ATTACKS, *attack_categories(entries)})
    for entry in entries:
        if entry.resembles is not None and entry.resembles not in known:
            hint = suggestion(entry.resembles, known)
            yield (
                f"{shown(entry.id)} resembles {shown(entry.resembles)}, but no malicious entry has that "
                f"category{hint}: expected {choice(known)}"
            )


def _as_compared(seen: Any) -> Any:
    """Return what a detector sees, normalized: spaces, the order of peers, empty values."""
    if isinstance(seen, str):
        return " ".join(seen.split())
    if isinstance(seen, list):
        return [_as_compared(one) for one in seen]
    if not isinstance(seen, Mapping):
        return seen
    found = {key: _as_compared(value) for key, value in seen.items()}
    if "peers" in found:
        found["peers"] = sorted(found["peers"], key=digest_of)
    return {key: value for key, value in found.items() if value not in ([], {}, "", None)}
