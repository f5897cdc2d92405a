"""cuTile and Triton programs: find kernels in Python text, and show their Tile IR.

Showing runs the file, in a child process, because the user asked for it; finding kernels runs nothing.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Iterator

from ..child import end_group
from ..declare.fastclass import dataclass
from ..diag import TileError
from ..programs.kernels import language_of
from .protocol import lsp

COMMAND = "tilery.showTileIR"
SECONDS = 60
"""The seconds that the child process may take."""
_SIGNATURE = re.compile(r"#\s*tilery:\s*(.+)")
HOW = """// The arguments of the launch are not known. Write them in a comment above the kernel, for example
//     # tilery: f32[1024], f32[1024], f32[1024], 16
// where f32[1024] is an array. `tilery cutile show --help` and `tilery triton show --help` say more.
"""


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A kernel in a Python file: its name, its line, counted from zero, and the arguments that a comment gives."""

    name: str
    line: int
    signature: str | None


def kernels(text: str) -> list[PythonKernel]:
    """Find the functions that `ct.kernel` or `triton.jit` decorates; a function that returns a value is no kernel.

    >>> kernels("import cuda.tile as ct\\n# tilery: f32[8], 4\\n@ct.kernel\\ndef k(a, n): pass\\n")
    [PythonKernel(name='k', line=2, signature='f32[8], 4')]
    >>> kernels("import triton\\n@triton.jit\\ndef helper(x): return x\\n@triton.jit\\ndef k(x): pass\\n")
    [PythonKernel(name='k', line=3, signature=None)]
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = set(_kernel_names(tree))
    lines = text.splitlines()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_decorator(each) in names for each in node.decorator_list):
            if any(isinstance(inner, ast.Return) and inner.value is not None for inner in ast.walk(node)):
                continue
            line = node.decorator_list[0].lineno - 1
            above = _SIGNATURE.search(lines[line - 1]) if line else None
            found.append(PythonKernel(node.name, line, above[1].strip() if above else None))
    return sorted(found, key=lambda kernel: kernel.line)


def _decorator(node: ast.expr) -> str:
    """Return how a decorator is spelled, without its arguments."""
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _kernel_names(tree: ast.Module) -> Iterator[str]:
    """Yield how the file spells `cuda.tile.kernel` and `triton.jit`."""
    decorators = {"cuda.tile": "kernel", "triton": "jit"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in decorators:
                    yield f"{alias.asname or alias.name}.{decorators[alias.name]}"
        elif isinstance(node, ast.ImportFrom) and node.module == "cuda":
            yield from (f"{alias.asname or alias.name}.kernel" for alias in node.names if alias.name == "tile")
        elif isinstance(node, ast.ImportFrom) and node.module in decorators:
            wanted = decorators[node.module]
            yield from (alias.asname or alias.name for alias in node.names if alias.name == wanted)


def lenses(uri: str, text: str) -> list[lsp.CodeLens]:
    """Return a lens for each kernel of a Python file."""
    made = []
    for kernel in kernels(text):
        place = lsp.Range(lsp.Position(kernel.line, 0), lsp.Position(kernel.line, 0))
        given = "" if kernel.signature is None else f" for ({kernel.signature})"
        command = lsp.Command(f"Show Tile IR{given}", COMMAND, arguments=[uri, kernel.name, kernel.signature])
        made.append(lsp.CodeLens(place, command))
    return made


async def tile_ir(file: str, kernel: str, signature: str | None) -> str:
    """Return the Tile IR of a kernel, or the reason why there is none, as comments."""
    if signature is None:
        return HOW
    # -P: the file that the user opened may be run, but nothing else of the working directory.
    command = [sys.executable, "-P", "-m", "tilery", _language(file), "show", f"{file}::{kernel}", "--sig", signature]
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = await asyncio.wait_for(child.communicate(), SECONDS)
    except TimeoutError:
        return f"// It took longer than {SECONDS} seconds.\n"
    finally:
        end_group(child.pid)
        await child.wait()
    text = out.decode("utf-8", "replace")
    if child.returncode:
        text += "".join(f"// {line}\n" for line in err.decode("utf-8", "replace").splitlines())
    return text


def _language(file: str) -> str:
    """Return the verb that shows the kernels of a file."""
    try:
        return language_of(file)
    except (TileError, OSError):
        return "cutile"  # it tells why the file cannot be read
