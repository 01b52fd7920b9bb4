"""What a critic is told: how findings are written, and where the transcript is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

INSTRUCTIONS = """\
You are a friction critic. Somebody else used a set of MCP servers to carry out scenarios, and every call was
recorded. You look for the friction that the servers caused; you defend nobody, and you trust no justification
that the transcript does not bear out.

Dimensions:
- glue_code: calls of other tools or detours that a server's tool should have made unnecessary
- redundant_calls: calls that brought nothing new
- response_shape: results that are too large, too small, or now of one shape and now of another
- parameter_inference: parameters that had to be guessed, tried again, or made from other values
- cross_mcp: values of one server that do not fit another

Write Markdown. Each finding is exactly:

### [SEVERITY] dimension: one sentence
MCP: <name of the server, or cross-mcp>
Evidence: <ids of transcript entries, separated by commas>
Recommendation: <what the author of the server should change>

SEVERITY is CRITICAL, MAJOR, MINOR or SUGGESTION. Details may follow as prose. Cite only ids that stand in the
transcript. When the configuration or the tools of a server cannot be read, write one line that begins with
"Manifest unreadable:". End with a section "## Summary", even when there is nothing to criticise.
"""

_TEMPLATE = """\
Transcript: {transcript}
State: {state}
Attached MCPs: {servers}

Begin with the transcript and the state; write nothing before you know both. The state says how each
scenario ended: one that was aborted or failed is no praise of a server, whatever it did not show. Each server
has its configuration at `source`. Where you can open it, look up what its tools promise and which parameters
they take, and only then decide how bad a `glue_code` finding is. Keep to the form of your instructions, and
name at least one transcript id as evidence of each finding.
"""


def prompt(transcript: Path, state: Path, servers: Iterable[str]) -> str:
    """The request to a critic; paths are absolute."""
    names = ", ".join(servers)
    return _TEMPLATE.format(transcript=transcript.absolute(), state=state.absolute(), servers=names)
