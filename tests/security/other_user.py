"""Programs that run as somebody else: what a rule about other users is worth when one comes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Final

import pytest

NOBODY: Final = 65534

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can run a program as another user"
)


def as_nobody(code: str, *words: str) -> Any:
    """Run Python as another user; what it printed as JSON.

    The interpreter may lie in a folder that is private to root, so what the code imports is
    imported first and the user is changed then.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", BECOME + code, *words],
        cwd="/",
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


BECOME: Final = f"""
import json, os, socket, sys
json.loads(json.dumps({{"a": "\u00e9"}}))
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""

# Connects for each line of argv[2:] and prints what came back, or why nothing did.
KNOCK: Final = """
said = {}
for line in sys.argv[2:]:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    try:
        connection.connect(sys.argv[1])
        found = b""
        try:
            connection.sendall(line.encode() + b"\\n")
        except OSError:
            pass
        while more := connection.recv(65536):
            found += more
        said[line] = found.decode()
    except OSError as problem:
        said[line] = type(problem).__name__
    connection.close()
print(json.dumps(said))
"""
