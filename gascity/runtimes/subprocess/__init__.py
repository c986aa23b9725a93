"""Sessions as plain processes: a keeper each, which outlives the controller."""

from gascity.runtimes.subprocess.runtime import SubprocessRuntime

__all__ = ["SubprocessRuntime"]
