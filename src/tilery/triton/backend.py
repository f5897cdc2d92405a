"""A backend of Triton whose binary is Tile IR: NVIDIA's rules for the source, and our translation after them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir, passes
from triton.backends.nvidia.compiler import CUDABackend

from ..api import dumps, verify
from ..diag import ErrorKind, TileError
from .settings import SETTINGS
from .translation import translate

EXTENSION = "tileirbc"
PASSES = (
    *("common.add_inliner", "ttir.add_rewrite_tensor_pointer", "ttir.add_rewrite_tensor_descriptor_to_pointer"),
    *("common.add_canonicalizer", "ttir.add_combine", "common.add_cse", "common.add_licm", "common.add_symbol_dce"),
)
"""The passes before the translation; a release of Triton has those that it needs."""


class TileBackend(CUDABackend):  # type: ignore[misc]  # Triton's
    """NVIDIA's backend up to Triton IR; the next stage is the last one."""

    def __init__(self, target: Any) -> None:
        super().__init__(target)
        self.binary_ext = EXTENSION

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
        if getattr(language, "name", "TRITON") != "TRITON":
            message = "Gluon kernels are written for the layouts of one GPU and have no Tile IR"
            raise TileError(message, kind=ErrorKind.UNSUPPORTED)
        stages["ttir"] = lambda module, metadata: simplify(module)
        stages[EXTENSION] = make_tile_ir

    def hash(self) -> str:
        """Return the key of this backend: whatever changes the binary beside the source and Triton's options."""
        return f"tilery-{content_of_package()}-{self.target.arch}-{SETTINGS.strict}"


@cache
def content_of_package() -> str:
    """Return a digest of the files that make the binary: this package, the builder and the bytecode writer."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(each for part in ("triton", "builder", "bytecode") for each in (root / part).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def simplify(module: Any) -> Any:
    """Inline, rewrite block pointers and descriptors to pointers, and remove what is not needed."""
    manager = ir.pass_manager(module.context)
    for name in PASSES:
        group, _, function = name.partition(".")
        if (add := getattr(getattr(passes, group), function, None)) is not None:
            add(manager)
    try:
        manager.run(module, "tilery")
    except TypeError:  # before 3.6
        manager.run(module)
    return module


def generic_text(module: Any) -> str:
    """Print a module in MLIR's generic form, with locations.

    A module that is not legal is printed so, and a module may not have an attribute without a dialect.
    """
    module.set_attr("generic", ir.builder(module.context).get_unit_attr())
    text: str = module.str()
    return text


def make_tile_ir(module: Any, metadata: dict[str, Any]) -> bytes:
    """The last stage: translate, check, and describe the kernel to Triton's runtime."""
    made = translate(generic_text(module), strict=SETTINGS.strict)
    if wrong := verify(made.module):
        raise TileError(f"the translation is not legal, which is a bug of tilery: {wrong[0].message}")
    metadata.update(
        name=made.entry,
        shared=1024,  # some programs divide by it
        tmem_size=0,
        global_scratch_size=0,
        global_scratch_align=1,
        profile_scratch_size=0,
        profile_scratch_align=1,
        parameter_names=made.names,
    )
    return dumps(made.module, version="13.4")
