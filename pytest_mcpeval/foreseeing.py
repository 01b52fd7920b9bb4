"""What can be known of an item before its turn: whether its case will certainly be asked."""

from __future__ import annotations

import pytest


def may_be_set_aside(item: pytest.Item) -> bool:
    """Whether a mark may keep an item from running. Conditions in words are for pytest to judge."""
    return any(map(_sets_aside, item.iter_markers()))


def _sets_aside(mark: pytest.Mark) -> bool:
    if mark.name == "skipif":
        conditions = (mark.kwargs["condition"],) if "condition" in mark.kwargs else mark.args
        return not conditions or any(condition is not False for condition in conditions)
    return mark.name == "skip" or (mark.name == "xfail" and not mark.kwargs.get("run", True))
