"""Launch the kernels of a bundle on a GPU; keep the memory they leave and the text they print.

    python gpu_launch.py BUNDLE RESULTS [--workers 4] [--seconds 20]

Needs nothing but Python and NVIDIA's driver: copy this file and the bundle to the GPU machine. `gpu_modules.py` makes
bundles and reads results. Kernels run in worker processes, so one that crashes or hangs does not affect others.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import zipfile
from typing import Any

FIFO = 1, 1 << 26
"""CU_LIMIT_PRINTF_FIFO_SIZE, and a large value for it."""


class Failed(Exception):
    """An error of the driver."""


class Gpu:
    """The first GPU, through the driver API."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.libc = ctypes.CDLL(None)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuCtxSetLimit", FIFO[0], ctypes.c_size_t(FIFO[1]))

    def call(self, name: str, *args: Any) -> None:
        code = getattr(self.cuda, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise Failed(f"{name}: {(text.value or b'?').decode()}")

    def launch(self, image: bytes, launch: dict[str, Any], inputs: list[bytes], globals: dict[str, int]) -> list[bytes]:
        """Load the module, launch a kernel, and return the content of its buffers and globals."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, launch["entry"].encode())
        params, buffers, waiting = [], [], iter(inputs)
        for arg in launch["args"]:
            if "word" in arg:
                params.append(ctypes.c_uint64(arg["word"]))
                continue
            data, pointer = next(waiting), ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(len(data)))
            self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
            params.append(pointer)
            buffers.append((pointer, len(data)))
        array = (ctypes.c_void_p * max(1, len(params)))(*[ctypes.addressof(p) for p in params])
        self.call("cuLaunchKernel", function, *launch["grid"], 1, 1, 1, 0, None, array, None)
        self.call("cuCtxSynchronize")
        left = [self.read(*buffer) for buffer in buffers]
        for name, size in globals.items():
            pointer, found = ctypes.c_uint64(), ctypes.c_size_t()
            # The compiler may remove a global that no kernel can change.
            there = not self.cuda.cuModuleGetGlobal_v2(
                ctypes.byref(pointer), ctypes.byref(found), module, name.encode()
            )
            left.append(self.read(pointer, min(size, found.value)) if there else b"")
        for pointer, _ in buffers:
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return left

    def read(self, pointer: ctypes.c_uint64, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, pointer, ctypes.c_size_t(size))
        return data.raw


def run_module(gpu: Gpu, bundle: zipfile.ZipFile, job: dict[str, Any], log: int) -> tuple[dict[str, Any], bytes]:
    """Run all launches of a module, each twice; `log` is the file that receives printed text."""
    image, data = bundle.read(f"{job['name']}.cubin"), bundle.read(f"{job['name']}.in")
    position, launches, content = 0, [], b""
    for launch in job["launches"]:
        inputs = []
        for arg in launch["args"]:
            if "bytes" in arg:
                inputs.append(data[position : position + arg["bytes"]])
                position += arg["bytes"]
        tries = []
        for _ in range(2):
            os.ftruncate(log, 0)
            os.lseek(log, 0, os.SEEK_SET)
            left = gpu.launch(image, launch, inputs, job["globals"])
            gpu.libc.fflush(None)
            os.lseek(log, 0, os.SEEK_SET)
            with os.fdopen(os.dup(log), "rb") as file:
                tries.append((left, file.read()))
        left, printed = tries[0]
        launches.append(
            {
                "sizes": [len(part) for part in left],
                "printed": printed.decode("latin1"),
                "stable": tries[0][0] == tries[1][0],
            }
        )
        content += b"".join(left)
    return {"launches": launches}, content


def work(path: str, names: list[str], pipe: Any) -> None:
    """Run modules until one fails; after that the driver refuses everything."""
    log, _ = tempfile.mkstemp()
    os.dup2(log, 1)
    with zipfile.ZipFile(path) as bundle:
        jobs = {job["name"]: job for job in json.loads(bundle.read("plan.json"))}
        try:
            gpu = Gpu()
            for name in names:
                pipe.send((name, *run_module(gpu, bundle, jobs[name], log)))
        except Failed as failed:
            pipe.send((name, {"error": str(failed)}, b""))
            pipe.close()
            os._exit(1)


def oversee(path: str, names: list[str], seconds: float, keep: Any) -> None:
    """Start workers until every module has run or failed."""
    context = multiprocessing.get_context("spawn")
    while names:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(path, names, theirs))
        worker.start()
        theirs.close()
        started = False
        try:
            while names:
                # The first module also waits for the driver to start.
                if not ours.poll(seconds if started else seconds + 15):
                    keep(names[0], {"error": "hangs"}, b"")
                    names = names[1:]
                    break
                name, result, content = ours.recv()
                started = True
                keep(name, result, content)
                names = names[1:]
                if "error" in result:
                    break
        except EOFError:
            keep(names[0], {"error": "the process died"}, b"")
            names = names[1:]
        worker.kill()
        worker.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("results")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20, help="after this time a kernel counts as hanging")
    args = parser.parse_args()
    with zipfile.ZipFile(args.bundle) as bundle:
        names = [job["name"] for job in json.loads(bundle.read("plan.json"))]
    lock = threading.Lock()
    failed = []
    with zipfile.ZipFile(args.results, "w", zipfile.ZIP_DEFLATED) as results:

        def keep(name: str, result: dict[str, Any], content: bytes) -> None:
            with lock:
                results.writestr(f"{name}.json", json.dumps(result))
                results.writestr(f"{name}.out", content)
                if "error" in result:
                    failed.append(f"{name}: {result['error']}")

        threads = [
            threading.Thread(target=oversee, args=(args.bundle, names[n :: args.workers], args.seconds, keep))
            for n in range(args.workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print("\n".join(failed))
    print(f"{len(names)} modules, {len(failed)} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
