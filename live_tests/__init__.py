"""Tests that need servers of others, each in an environment of its own: see tox.ini."""
