"""Opens connections to servers that do not want to end, says so, and waits to be killed."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from pytest_mcpeval.servers import Connections, ServerDefinition

FAULTY = str(Path(__file__).with_name("faulty.py"))


def main() -> None:
    deaf = ServerDefinition("deaf", "stdio", sys.executable, (FAULTY, "deaf"))
    connections = Connections()
    server = int(connections.get(deaf).call_tool("pid").text)
    grandchild = int(connections.get(deaf).call_tool("leave_grandchild").text)
    connections.get(deaf).start_tool("hang")
    print(json.dumps([server, grandchild]), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
