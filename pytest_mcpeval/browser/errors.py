"""What goes wrong with browsers themselves, rather than with a page."""

from __future__ import annotations


class BrowserError(Exception):
    """No browser or driver can be used. The text is for people: what was tried, and what to install."""
