"""The process that runs Triton. Triton may abort on input that it does not expect, so it never runs in the caller.

It is a service of `tilery.child`, and imports Triton and the standard library alone.
"""

from __future__ import annotations

import base64
import inspect
import os
import re
import tempfile
from typing import Any


def compile_text(
    text: str, backend: str, name: str, warp: int, options: dict[str, Any], language: str = "triton"
) -> tuple[dict[str, Any], Any]:
    """Run all stages of Triton's backend on Triton IR or Gluon; return the result of each, and the metadata."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    target = GPUTarget(backend, int(name[3:]) if backend == "cuda" else name, warp)
    compiler = make_backend(target)
    chosen = compiler.parse_options(dict(options))
    context = ir.context()
    ir.load_dialects(context)
    compiler.load_dialects(context)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the name in debug information is the same each time
        with open("kernel.ttir", "w", encoding="utf-8") as file:
            file.write(text)
        module = ir.parse_mlir_module("kernel.ttir", context)
        os.chdir("/")
    module.context = context
    stages: dict[str, Any] = {}
    if len(inspect.signature(compiler.add_stages).parameters) == 3:
        from triton.backends.compiler import Language

        compiler.add_stages(stages, chosen, Language[language.upper()])
    else:
        compiler.add_stages(stages, chosen)
    metadata = {"target": target, **chosen.__dict__}
    found: dict[str, Any] = {}
    for stage, function in stages.items():
        module = function(module, metadata)
        found[stage] = module if isinstance(module, (str, bytes)) else str(module)
    return found, metadata


def parameters(stages: dict[str, Any]) -> int:
    """The number of parameters of the compiled kernel."""
    if "ptx" in stages:
        head = re.search(r"\.entry[^(]*\(([^)]*)\)", stages["ptx"])
        return head[1].count(".param") if head else 0
    shown = stages.get("amdgcn", "")
    listed = re.search(r"\.args:(.*?)\n\s*\.group_segment", shown, re.S)
    return len(re.findall(r"\.value_kind:\s+(?!hidden)", listed[1])) if listed else 0


def answer(request: dict[str, Any], data: bytes, alive: object) -> tuple[dict[str, Any], bytes]:
    """Compile one request."""
    try:
        return compiled(request), b""
    except BaseException as error:  # Triton may raise anything; the parent reports it
        return {"error": f"{type(error).__name__}: {error}"}, b""


def compiled(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("ptxas"):
        os.environ["TRITON_PTXAS_PATH"] = request["ptxas"]
    stages, metadata = compile_text(
        request["text"],
        request["backend"],
        request["target"],
        request["warp"],
        request["options"],
        request.get("language", "triton"),
    )
    binary = stages["cubin" if request["backend"] == "cuda" else "hsaco"]
    maps = metadata.get("tensordesc_meta") or []
    plain = {
        "name": metadata.get("name"),
        "shared": metadata.get("shared") or 0,
        "num_warps": metadata.get("num_warps") or 4,
        "scratch": metadata.get("global_scratch_size") or 0,
        "scratch_alignment": metadata.get("global_scratch_align") or 1,
        "parameters": parameters(stages),
        "maps": [{k: m[k] for k in ("swizzle", "block_size") if k in m} for m in maps if m],
    }
    shown = {name: stages[name] for name in request["emit"] if isinstance(stages.get(name), str)}
    return {"binary": base64.b64encode(binary).decode(), "metadata": plain, "stages": shown}
