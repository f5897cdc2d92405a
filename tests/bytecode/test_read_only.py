"""Bytecode 13.5: what is known of it becomes a module of 13.4, and everything else is refused by name."""

from __future__ import annotations

import pytest

import tilery
from support.assemble import File, table, vi
from support.newer import EMPTY, newer
from tilery import TileError
from tilery.bytecode.dump import dump
from tilery.bytecode.lazy import LazyModule
from tilery.diag import ErrorKind
from tilery.ops import Module
from tilery.version import READ_ONLY

ATOMIC = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %v = make_partition_view %t : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  %a = constant <f32: 1.0> : tile<8xf32>
  %0 = atomic_red_view_tko relaxed device %v[%n], addf, %a \
: tile<8xf32>, partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
  return
}
"""


WITH_ARGUMENT = b"\x0b\0\x06\1\x0a\0"
"""No hints, and attributes of one argument."""


def written(text: str) -> bytes:
    return tilery.dumps(tilery.parse(text), "13.4")


def inbounds(value: bool) -> bytes:
    """A reduction in 13.5: after its mode, one boolean per index."""
    return newer(written(ATOMIC), b"\0\1\1\4", b"\0\1\1\4" + vi(1) + bytes([value]))


def same(found: Module, text: str) -> bool:
    return tilery.show(found) == tilery.show(tilery.parse(text))


def test_a_kernel_becomes_a_module_of_the_latest_version() -> None:
    data = inbounds(False)
    for module in (tilery.load(data), LazyModule(data).module()[0]):
        assert str(module.version) == "13.4" and same(module, ATOMIC)
    assert tilery.load(tilery.dumps(tilery.load(data))).version == (13, 4)
    found = dump(data)
    assert found.error is None and "version 13.5" in found.text and "not read" not in found.text


def test_hints_need_no_flag() -> None:
    text = "entry @k() optimization_hints=<sm_100 = {occupancy = 2}> {\n  return\n}\n"
    data = written(text)
    start = data.index(b"\x0b\x01")  # the hints: one architecture
    end = data.index(vi(len(b"\x5c\0\0")) + b"\x5c\0\0", start)
    assert same(tilery.load(newer(data, hints=data[start:end] + b"\x06\0")), text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (inbounds(True), "'inbounds' of atomic_red_view_tko, which bytecode 13.5 has, is not known"),
        (
            newer(written(ATOMIC), hints=b"\x0b\0\x06\1\x0a\0"),
            "attributes of arguments, which bytecode 13.5 has, are not known",
        ),
        (newer(written(ATOMIC), flags=6), "function entry has unrecognized flag bits (0x4);"),
        (newer(written(ATOMIC), flags=3), "function entry has unrecognized flag bits (0x1);"),
    ],
    ids=["inbounds", "arg_attrs", "hints", "private"],
)
def test_what_is_not_known_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(TileError) as found:
        tilery.load(data)
    assert found.value.message == message and found.value.offset


def test_new_operations_are_named() -> None:
    with pytest.raises(TileError, match=r"unsupported opcode 150 for bytecode version 13\.5") as found:
        tilery.load(newer(written("entry @k() {\n  return\n}\n"), b"\x5c\0\0", vi(150) + b"\0\0"))
    assert found.value.kind is ErrorKind.VERSION and "multimem_load_reduce_view_tko" in str(found.value)


@pytest.mark.parametrize(("flags", "read"), [(0, True), (4, False)])
def test_flags_of_subprograms(flags: int, read: bool) -> None:
    entries = [b"\x02\0\0", b"\x01\1", b"\x05\1\1\0\0\2\1" + vi(flags), b"\x04\3\0\1\1"]
    lists = b"\1" + b"\xcb" * 3 + bytes(4) + vi(2) + b"\xcb" * 7 + (4).to_bytes(8, "little") * 2
    debug = lists + table(entries, 4)
    file = File(version=READ_ONLY, hints=EMPTY, location=1, sections={3: (debug, 8)})
    if read:
        assert 'loc("k":1:1)' in tilery.show(tilery.load(file.data()), locs=True)
    else:
        with pytest.raises(TileError, match="flags 0x4 of subprogram 'k' are not known"):
            tilery.load(file.data())


def test_readers_of_others_refuse_it() -> None:
    with pytest.raises(TileError, match=r"unsupported Tile version 13\.5\.0"):
        tilery.load(inbounds(False), reader="13.4")
