"""Where NVIDIA's tools and the corpus of real files are found, for tests that are skipped without them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import random
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tilery.cpp.toolkit import find_toolkit
from tilery.diag import TileError

ROOT = Path(__file__).resolve().parent.parent.parent
CONFORMANCE = ROOT.parent / "shared" / "conformance"
CORPUS = CONFORMANCE / "corpus"
FULL = os.environ.get("TILERY_FULL", "") not in ("", "0")
SEED = 1337


def corpus_files(sample: int = 100) -> list[Path]:
    """A seeded sample of the corpus, or all of it with TILERY_FULL=1; nothing where there is no corpus."""
    files = sorted(CORPUS.glob("*.tileirbc")) if CORPUS.is_dir() else []
    if FULL or len(files) <= sample:
        return files
    return sorted(random.Random(SEED).sample(files, sample))


def _installed(tool: str) -> Path | None:
    """The tool in an installed nvidia package: these share a folder such as nvidia/cu13/bin."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob(f"*/bin/{tool}"), reverse=True):
            if os.access(path, os.X_OK):
                return path
    return None


def _named(variable: str) -> Path | None:
    """The tool that an environment variable names."""
    path = os.environ.get(variable)
    return Path(path) if path and os.access(path, os.X_OK) else None


@cache
def find_tileirdisasm() -> Path | None:
    """NVIDIA's disassembler: TILEIRDISASM, then the installed package, then PATH."""
    found = _named("TILEIRDISASM") or _installed("tileirdisasm")
    if found is None and (on_path := shutil.which("tileirdisasm")):
        found = Path(on_path)
    return found


@cache
def has_nvrtc() -> bool:
    """Whether CUDA Tile C++ can be compiled here."""
    try:
        return bool(find_toolkit())
    except TileError:
        return False


def disassemble(data: bytes, *options: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run tileirdisasm on bytecode: text on stdout, errors on stderr. Call it from tests marked `oracle`."""
    tool = find_tileirdisasm()
    assert tool is not None, "the test lacks @pytest.mark.oracle"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.tileirbc")
        path.write_bytes(data)
        return subprocess.run(
            [tool, path, *options], capture_output=True, encoding="utf-8", errors="surrogateescape", timeout=timeout
        )
