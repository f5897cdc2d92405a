"""The process that runs a test: it reads a test, then cases, and writes outcomes."""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import BinaryIO

from .case import Case

ADDRESS_SPACE = 16 << 30
"""Bytes of address space that a test may take, unless it has an attribute of this name."""


def limit(address_space: int | None) -> None:
    """Limit what this process may take, and leave no core file when it dies."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    except (ImportError, OSError, ValueError):
        return


def receive(stream: BinaryIO) -> bytes | None:
    head = stream.read(8)
    return stream.read(struct.unpack("<Q", head)[0]) if len(head) == 8 else None


def main() -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kernels print goes nowhere: stdout carries the answers alone
    data = receive(requests)
    if data is None:
        return
    test = pickle.loads(data)
    limit(getattr(test, "address_space", ADDRESS_SPACE))
    while (data := receive(requests)) is not None:
        answer: str | Exception
        try:
            answer = test(Case.decode(data))
        except Exception as error:  # the test is code of the user; the parent reports it
            answer = RuntimeError(f"the test failed: {type(error).__name__}: {error}")
        made = pickle.dumps(answer)
        answers.write(struct.pack("<Q", len(made)) + made)
        answers.flush()


if __name__ == "__main__":
    main()
