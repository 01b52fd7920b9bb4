"""Yield a file's libyaml events, with line numbers as editors show them and readable syntax errors."""

from __future__ import annotations

import re
from typing import Any

import yaml

from .problems import DataFileError
from .source import LINE_BREAK, Source

_YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_YAML_ONLY_BREAK = re.compile("[\x85\u2028\u2029]")

_NO_LIBYAML = (
    "cannot be read: this PyYAML is built without libyaml; install a wheel with "
    "`pip install --force-reinstall --only-binary pyyaml pyyaml`"
)

_HINTS = {
    "found character that cannot start any token": "quote the value",
    "mapping values are not allowed in this context": "check the indentation, quote a text with ': ' in it",
    "did not find expected key": "check the indentation and the quotes",
    "did not find expected '-' indicator": "check the indentation",
    "could not find expected ':'": "a key needs ': ' after it",
    "found unexpected end of stream": "a quote is not closed",
    "did not find expected ',' or ']'": "a bracket is not closed, or a comma is missing",
    "did not find expected ',' or '}'": "a brace is not closed, or a comma is missing",
    "found unknown escape character": "double the backslash, or use single quotes",
}


class Events:
    """The events of one YAML file, from ``parser.get_event()``, which raises yaml.YAMLError.

    Raises:
        DataFileError: PyYAML was built without libyaml, or the text holds a control character.
    """

    def __init__(self, source: Source) -> None:
        if not yaml.__with_libyaml__:
            raise source.error(0, _NO_LIBYAML)
        self._source = source
        self._lines = _editor_lines(source.text)
        try:
            self.parser = yaml.CLoader(source.text.encode("utf-8"))
        except yaml.YAMLError as error:
            raise self.syntax_error(error) from error

    def line(self, event: Any) -> int:
        """Return the line (from 1) on which an event starts."""
        return self.editor_line(event.start_mark.line)

    def editor_line(self, line: int) -> int:
        """Return the line (from 1) that an editor shows for a line of the parser (from 0)."""
        # At the end of the text, the parser counts one line too many.
        return self._lines[min(line, len(self._lines) - 1)] if self._lines else line + 1

    def syntax_error(self, error: yaml.YAMLError) -> DataFileError:
        """Return the parser's exception as a problem with a line."""
        if isinstance(error, yaml.reader.ReaderError):
            return self._control_character(error)
        if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
            return self._source.error(0, f"is not YAML: {error}")
        mark, start, context = error.problem_mark, error.context_mark, ""
        if error.context and start is not None and start.line != mark.line:
            context = f" {error.context} that starts on line {self.editor_line(start.line)}"
        hint = self._hint(error.problem or "", mark.line, mark.column)
        return self._source.error(self.editor_line(mark.line), f"is not YAML: {error.problem}{context}{hint}")

    def _control_character(self, error: yaml.reader.ReaderError) -> DataFileError:
        before = self._source.text.encode("utf-8")[: error.position].decode("utf-8", "ignore")
        found = f"is not YAML: the control character U+{int(error.character):04X} is not allowed"
        line = self._source.line_at(len(before))
        return self._source.error(line, f"{found}; escape it in double quotes")

    def _hint(self, problem: str, line: int, column: int) -> str:
        lines = _YAML_BREAK.split(self._source.text)
        text = lines[line] if line < len(lines) else ""
        indentation = text[: len(text) - len(text.lstrip())]
        if "\t" in indentation or text[column:].startswith("\t"):
            return "; indent with spaces, YAML does not allow tabs"
        return f"; {_HINTS[problem]}" if problem in _HINTS else ""


def _editor_lines(text: str) -> list[int]:
    """Return editor lines by YAML line, or nothing if they agree: YAML has more line breaks than editors."""
    if not _YAML_ONLY_BREAK.search(text):
        return []
    lines = [1]
    for found in _YAML_BREAK.finditer(text):
        lines.append(lines[-1] + (LINE_BREAK.fullmatch(found[0]) is not None))
    return lines
