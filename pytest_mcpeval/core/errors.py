"""What keeps a case from being judged."""

from __future__ import annotations


class TargetError(Exception):
    """What is evaluated could not be made ready: an error of the run, no verdict. Its text is for people.

    ``cause`` identifies what keeps several cases from being asked: such an error is shown once. It is empty
    where one case is concerned.
    """

    def __init__(self, *args: object, cause: str = "") -> None:
        super().__init__(*args)
        self.cause = cause


class InvalidTest(Exception):  # noqa: N818 - reads as what happened
    """A test in Python is written so that it judges nothing, or not what it says. Its text is for people."""
