"""The kernel inside a recorded launch, for everything that reads a module and needs no arguments."""

from __future__ import annotations

from ..diag import ErrorKind, TileError

ZIP = b"PK\x03\x04"
"""How a recorded launch starts."""
KERNEL = "kernel.tileirbc"
MAX_KERNEL = 1 << 28
"""The most bytes of the bytecode in a recorded launch."""


def kernel_of(data: bytes, file: str = "") -> bytes:
    """Return the bytecode in a recorded launch; any other data is returned as it is."""
    if not data.startswith(ZIP):
        return data
    import io
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as opened, opened.open(KERNEL) as kernel:
            found = kernel.read(MAX_KERNEL + 1)
    except Exception as error:  # zip and zlib raise many exceptions
        why = f"there is no {KERNEL} in it" if isinstance(error, KeyError) else str(error)
        raise TileError(f"this zip file is not a recorded launch: {why}", kind=ErrorKind.SYNTAX, file=file) from None
    if len(found) > MAX_KERNEL:
        raise TileError(f"the kernel of the recorded launch has more than {MAX_KERNEL} bytes", file=file)
    return found
