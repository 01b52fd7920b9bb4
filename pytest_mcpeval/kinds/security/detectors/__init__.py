"""Detectors, the systems under test: chosen by settings, asked entry by entry. Usable without pytest."""
