"""A small chat agent on a web page, over a directory of people."""
