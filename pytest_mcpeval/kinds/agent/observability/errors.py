"""What goes wrong when evidence is fetched."""

from __future__ import annotations


class ObservabilityError(Exception):
    """A trace backend cannot be asked, or its answer cannot be read. The text is for people."""


class MalformedSpanError(ValueError):
    """A span that cannot be read; it is skipped and counted."""
