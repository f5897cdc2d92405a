"""A pytest plugin: engine cpu compiles in forked processes, which saves most of the time for thousands of kernels.

Load it before anything starts threads. Processes that tests start compile as usual.
"""

from __future__ import annotations

from parts.forked_compiler import ForkedChild, Kept, Server, choose
from tilery.engines.cpu.native.compiler import LEVEL

ForkedChild.server = Server()
ForkedChild.kept = Kept("")
choose(forked=True, level=LEVEL)
