"""Agents over the Agent Client Protocol; loading this loads the protocol's library."""

from gascity.runtimes.acp.runtime import AcpRuntime

__all__ = ["AcpRuntime"]
