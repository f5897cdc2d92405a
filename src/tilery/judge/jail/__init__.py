"""The jail: frontends run in confined processes, and only launches of bytecode come out."""

from .client import Jail, Limits

__all__ = ["Jail", "Limits"]
