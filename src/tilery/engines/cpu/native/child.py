"""The compiler: a program of its own that turns LLVM IR into objects or assembly. It imports nothing but llvmlite.

LLVM may abort the process that it runs in, or take all its memory, so it runs here. `process.py` starts it in a Python
without site-packages, with the directory that llvmlite is imported from.

Standard input has requests, each a `REQUEST`, whose limits apply before the rest is looked at, and a JSON object:

    texts      LLVM IR, one text per result
    levels     how much to optimise each, from 0 to 3
    triple, cpu, features, passes
    native     whether the triple is that of this machine
    emit       "object" or "asm"

Standard output has answers, each an `ANSWER`, what the compiler returned, and its last complaints. It
returns a JSON line, then the results in order. The line has their `sizes`, or an `error` and the number of the `text`
that has it.

This process answers one request and ends. If it is told the numbers of three more files, it leaves a copy of itself,
which reads requests from the first, writes answers to the second, and complains to the third. The copy forks for each
request; the fork compiles, and may die. The copy ends at the end of its input, or when it has been idle for `IDLE`
seconds.
"""

from __future__ import annotations

import gc
import json
import os
import select
import struct
import sys
from typing import Any

REQUEST = struct.Struct("<qqqq")
"""The number of a request, its size, and the most bytes of address space and seconds of CPU time that it may take."""
ANSWER = struct.Struct("<qiqq")
"""The number of the request, the status of the process that compiled, the sizes of what it returned and complained."""
IDLE = 60
OUT_OF_MEMORY = "out of memory"
ERRORS = 20_000
"""The bytes of complaints that are kept."""


def main() -> None:
    gc.disable()  # 2 of the 85 milliseconds of a first answer
    import llvmlite.binding  # noqa: F401  (before the request comes, because it takes long)

    files = [int(word) for word in sys.argv[4:]]
    first = os.getpid()
    if files and not os.fork():
        for file, stream in zip(files, range(3)):
            os.dup2(file, stream)
        os.closerange(3, max(files) + 1)
        serve(first)
    os.closerange(3, max(files, default=3) + 1)
    compile_for(1, *_receive())


def serve(first: int) -> None:
    """Answer requests until the pipe is closed; `first` is the process that this one is a copy of."""
    os.chdir("/")
    try:
        while select.select([0], [], [], IDLE)[0]:
            answer_by_fork(*_receive())
    except (EOFError, BrokenPipeError):
        if os.getppid() == first:
            os.kill(first, 9)  # its answer is not waited for either
    os._exit(0)


def compile_for(file: int, number: int, memory: int, seconds: int, data: bytes) -> None:
    """Write the answer to a request to a file, and end this process."""
    status = 1
    try:
        limit(memory, seconds)
        found = answer(json.loads(data))
        _write(file, ANSWER.pack(number, 0, len(found), 0) + found)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)  # there is nothing to clean up, and LLVM would take its time


def answer_by_fork(number: int, memory: int, seconds: int, data: bytes) -> None:
    """Let a fork compile, and pass its answer on as soon as it is whole; if it dies, answer in its place."""
    (out, to_out), (errors, to_errors) = os.pipe(), os.pipe()
    fork = os.fork()
    if not fork:
        os.dup2(to_errors, 2)
        for file in (0, 1):
            os.dup2(os.open(os.devnull, os.O_RDWR), file)
        os.close(out)
        os.close(errors)
        compile_for(to_out, number, memory, seconds, data)
    os.close(to_out)
    os.close(to_errors)
    found, said = b"", b""
    going = [0, out, errors]
    while out in going and not is_whole(found):
        for file in select.select(going, [], [])[0]:
            if not file:  # no other request comes before the answer, so it is the end of all requests
                os.kill(fork, 9)
                raise EOFError
            part = os.read(file, 1 << 20)
            found, said = (found + part, said) if file == out else (found, (said + part)[-ERRORS:])
            if not part:
                going.remove(file)
    if is_whole(found):  # at once, because the end of a process takes milliseconds
        said += os.read(errors, ERRORS) if select.select([errors], [], [], 0)[0] else b""
        same, status, size, _ = ANSWER.unpack(found[: ANSWER.size])
        _write(1, ANSWER.pack(same, status, size, len(said)) + found[ANSWER.size :] + said)
    status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    if not is_whole(found):
        while part := os.read(errors, 1 << 20):
            said = (said + part)[-ERRORS:]
        _write(1, ANSWER.pack(number, status, 0, len(said)) + said)
    os.close(out)
    os.close(errors)


def is_whole(found: bytes | bytearray) -> bool:
    """Tell whether this is an answer to its end."""
    return len(found) >= ANSWER.size and len(found) == ANSWER.size + sum(ANSWER.unpack(found[: ANSWER.size])[2:])


def _receive() -> tuple[int, int, int, bytes]:
    number, size, memory, seconds = REQUEST.unpack(_read(REQUEST.size))
    return number, memory, seconds, _read(size)


def _read(size: int) -> bytes:
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def answer(request: dict[str, Any]) -> bytes:
    """Compile all texts; return the result."""
    results: list[bytes] = []
    said: dict[str, Any]
    try:
        for text, level in zip(request["texts"], request["levels"]):
            results.append(compile_text(text, request, *prepare(request, level)))
        said = {"sizes": [len(each) for each in results]}
    except (RuntimeError, MemoryError) as error:
        said, results = {"error": str(error) or OUT_OF_MEMORY, "text": len(results)}, []
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
