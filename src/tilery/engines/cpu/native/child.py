"""The compiler: a program of its own that turns LLVM IR into objects or assembly. It imports nothing but llvmlite.

LLVM may abort the process that it runs in, or take all its memory, so it runs here. `compiler.py` starts this file with
`python -I -S` and the directory that llvmlite is imported from. Standard input is a JSON object:

    texts      LLVM IR, one text per result
    levels     how much to optimise each, from 0 to 3
    triple, cpu, features, passes
    native     whether the triple is that of this machine
    emit       "object" or "asm"
    memory     bytes of address space, at most
    seconds    CPU time, at most

Standard output is a JSON line, then the results in order. The line has their `sizes`, or an `error` and the number of
the `text` that has it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    sys.path.append(sys.argv[1])
    import llvmlite.binding  # noqa: F401  (before the request comes, because it takes long)

    request = json.load(sys.stdin)
    limit(request["memory"], request["seconds"])
    out = sys.stdout.buffer
    out.write(answer(request))
    out.flush()
    os._exit(0)  # there is nothing to clean up, and LLVM would take its time


def answer(request: dict[str, Any]) -> bytes:
    """Compile all texts; return what to write to standard output."""
    results: list[bytes] = []
    said: dict[str, Any]
    try:
        for text, level in zip(request["texts"], request["levels"]):
            results.append(compile_text(text, request, *prepare(request, level)))
        said = {"sizes": [len(each) for each in results]}
    except (RuntimeError, MemoryError) as error:
        said, results = {"error": str(error) or "out of memory", "text": len(results)}, []
    return json.dumps(said).encode() + b"\n" + b"".join(results)


def limit(memory: int, seconds: int) -> None:
    """Let this process fail before the machine does."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(kind, (most, hard))


def prepare(request: dict[str, Any], level: int) -> Any:
    """Return LLVM's description of the target, and its compiler."""
    import llvmlite.binding as llvm

    if request["native"]:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(request["triple"])
    machine = target.create_target_machine(
        cpu=request["cpu"], features=request["features"], opt=level, reloc="pic", codemodel="small"
    )
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    return machine, llvm.create_pass_builder(machine, options)


def compile_text(text: str, request: dict[str, Any], machine: Any, compiler: Any) -> bytes:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = request["triple"]
    module.data_layout = str(machine.target_data)
    passes = llvm.create_new_module_pass_manager()
    for name in request["passes"]:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, compiler)
    made: str | bytes = machine.emit_assembly(module) if request["emit"] == "asm" else machine.emit_object(module)
    return made.encode() if isinstance(made, str) else made


if __name__ == "__main__":
    main()
