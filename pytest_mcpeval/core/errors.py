"""Exceptions that keep a case from being judged."""

from __future__ import annotations


class TargetError(Exception):
    """The target could not be made ready: an error of the run, not a verdict. Its text is shown to
    users.  ``cause`` identifies an error that keeps several cases from being asked, which is shown
    once; empty if it concerns one case only.
    """

    def __init__(self, *args: object, cause: str = "") -> None:
        super().__init__(*args)
        self.cause = cause


class InvalidTest(Exception):  # noqa: N818 - reads as what happened
    """A test in Python judges nothing, or not what it seems to judge. Its text is shown to users."""
