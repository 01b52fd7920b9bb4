"""Driving web pages: which browser, who may use it when, and what is kept of a visit."""
