"""The process that runs NVRTC. A compiler may crash on its input, so it never runs in the caller.

It is a service of `tilery.child`, and imports the standard library alone.
"""

from __future__ import annotations

import base64
import ctypes
import os
from typing import Any

MAX_LOG = 1 << 20
"""The most bytes of messages that are passed on."""
MAX_CODE = 1 << 28
"""The most bytes of bytecode that are passed on."""


class Nvrtc:
    """The functions of NVRTC on one program."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)
        self.program = ctypes.c_void_p()
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)

    def call(self, name: str, *values: Any) -> None:
        if status := getattr(self.library, name)(*values):
            raise RuntimeError(f"{name} returned status {status}")

    def fetch(self, name: str, most: int) -> bytes:
        """Return what a pair of functions, one for the size and one for the content, hold."""
        size = ctypes.c_size_t()
        self.call(f"{name}Size", self.program, ctypes.byref(size))
        if size.value > most:
            raise RuntimeError(f"{name} holds {size.value} bytes; the limit is {most}")
        data = ctypes.create_string_buffer(size.value)
        self.call(name, self.program, data)
        return data.raw

    def lowered(self, expression: str) -> str:
        """Return the symbol of a name expression."""
        found = ctypes.c_char_p()
        self.call("nvrtcGetLoweredName", self.program, expression.encode(), ctypes.byref(found))
        return (found.value or b"").decode()


def answer(request: dict[str, Any], data: bytes, alive: object) -> tuple[dict[str, Any], bytes]:
    """Compile one request."""
    try:
        return compiled(request), b""
    except Exception as error:  # whatever it is, the parent reports it
        return {"error": f"{type(error).__name__}: {error}"}, b""


def compiled(request: dict[str, Any]) -> dict[str, Any]:
    nvrtc = Nvrtc(request["library"])
    made: dict[str, Any] = {"version": nvrtc.version}
    if not hasattr(nvrtc.library, "nvrtcGetTileIR"):
        return made
    program = ctypes.byref(nvrtc.program)
    source, name = request["source"].encode("utf-8", "surrogateescape"), os.fsencode(request["name"])
    headers = {key.encode(): text.encode("utf-8", "surrogateescape") for key, text in request["headers"].items()}
    strings = ctypes.c_char_p * len(headers)
    nvrtc.call("nvrtcCreateProgram", program, source, name, len(headers), strings(*headers.values()), strings(*headers))
    for instance in request["instances"]:
        nvrtc.call("nvrtcAddNameExpression", nvrtc.program, instance.encode())
    options = [os.fsencode(option) for option in request["options"]]
    status = nvrtc.library.nvrtcCompileProgram(nvrtc.program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = nvrtc.fetch("nvrtcGetProgramLog", 1 << 30)[:MAX_LOG].rstrip(b"\0")
    made |= {"status": status, "log": log.decode("utf-8", "replace")}
    if status == 0:
        made["code"] = base64.b64encode(nvrtc.fetch("nvrtcGetTileIR", MAX_CODE)).decode()
        made["symbols"] = {instance: nvrtc.lowered(instance) for instance in request["instances"]}
    return made
