"""Wrong C++: the compiler's error at its line, and a compiler that fails in other ways."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from cpp.kernels import HERE
from support.assemble import File
from tilery import TileError
from tilery.cpp import build
from tilery.cpp.errors import located, read_log
from tilery.cpp.names import name_kernels, plain_name
from tilery.cpp.toolkit import Toolkit, find_toolkit
from tilery.diag import ErrorKind

HEAD = "#include <cuda_tile.h>\nnamespace ct = ::cuda::tiles;\n"


def wrong(text: str, *instances: str) -> TileError:
    with pytest.raises(TileError) as found:
        build(text, instances, file="k.cu")
    return found.value


@pytest.mark.nvrtc
def test_an_error_is_at_its_line() -> None:
    error = wrong(HEAD + "__tile_global__ void k(int* x) {\n  *x = 1 + nothing;\n}\n")
    assert (error.message, error.line, error.column) == ('identifier "nothing" is undefined', 4, 12)
    assert str(error).splitlines()[1:3] == ["      *x = 1 + nothing;", "               ^^^^^^^"]


@pytest.mark.nvrtc
def test_every_error_is_shown() -> None:
    error = wrong(HEAD + "__tile_global__ void k(int* x) {\n  *x = one;\n  *x = two;\n}\n")
    assert [note for note in str(error).splitlines() if note.startswith("k.cu:5:8: error: ")] == [
        'k.cu:5:8: error: identifier "two" is undefined'
    ]


@pytest.mark.nvrtc
def test_an_instance_that_breaks_a_rule_names_itself() -> None:
    body = "  ct::tile<T, ct::shape<N>> x = ct::zeros<ct::tile<T, ct::shape<N>>>();\n}\n"
    error = wrong(HEAD + "template <typename T, int N>\n__tile_global__ void k(T* p) {\n" + body, "k<float, 3>")
    assert (error.message, error.line) == ("template constraint not satisfied", 5)
    assert any("with T=float, N=3" in note for note in error.notes)


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", ["nothing<float>", "k<", "k<int>; int main"])
def test_an_instance_that_there_is_not(name: str) -> None:
    error = wrong(HEAD + "template <typename T>\n__tile_global__ void k(T* p) { *p = 1; }\n", name)
    assert error.file == "k.cu"
    assert error.notes[0].startswith("an instance is named as in C++")


@pytest.mark.nvrtc
def test_a_file_without_kernels() -> None:
    assert wrong("__global__ void k(int* x) {\n  *x = 1;\n}\n").message == "there is no kernel"


@pytest.mark.nvrtc
def test_an_error_in_a_header_is_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.h").write_text("#pragma once\n__tile__ inline int f() { return y; }\n")
    with pytest.raises(TileError) as found:
        build('#include "bad.h"\n__tile_global__ void k(int* x) { *x = f(); }\n', include=[tmp_path])
    assert (Path(found.value.file), found.value.line) == (tmp_path / "bad.h", 2)


@pytest.mark.nvrtc
def test_macros_and_folders_reach_the_compiler() -> None:
    text = '#include "common.h"\n__tile_global__ void k(int* x) {\n  *x = SIZE;\n}\n'
    program = build(text, include=[HERE], define=["SIZE=77"])
    assert list(program.kernels) == ["k"]
    with pytest.raises(TileError, match="cannot open source file"):
        build(text, define=["SIZE=77"])


@pytest.mark.nvrtc
def test_warnings_are_kept() -> None:
    program = build("__tile_global__ void k(int* x) {\n  int unused;\n  *x = 1;\n}\n")
    assert [(w.line, w.message) for w in program.warnings] == [
        (2, 'variable "unused" was declared but never referenced')
    ]


@pytest.mark.nvrtc
def test_a_compilation_has_an_end() -> None:
    with pytest.raises(TileError, match=r"did not finish within 0\.01 seconds"):
        build(HEAD, timeout=0.01)


@pytest.mark.parametrize("option", ["", "a\nb", "a\0"])
@pytest.mark.nvrtc
def test_options_have_no_control_characters(option: str) -> None:
    with pytest.raises(TileError, match="an instance, folder or option cannot be"):
        build("int x;\n", [option])


def test_a_crash_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("lib/libnvrtc.so.13", "include/cuda_tile.h"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("this is no library")
    monkeypatch.setenv("TILERY_CUDA", str(tmp_path))
    with pytest.raises(TileError, match=r"OSError: .*libnvrtc\.so\.13: (file too short|invalid ELF header)"):
        build("int x;\n")


def fake(folder: Path, release: str) -> Path:
    """A toolkit whose NVRTC is of a release, as far as files tell."""
    for name in ("lib/libnvrtc.so.13", f"lib/libnvrtc-builtins.so.{release}", "include/cuda_tile.h"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def test_a_readable_nvrtc_is_preferred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TILERY_CUDA", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("CUDA_HOME", str(fake(tmp_path / "new", "13.6")))
    monkeypatch.setenv("CUDA_PATH", str(fake(tmp_path / "old", "13.4")))
    assert find_toolkit().library == tmp_path / "old/lib/libnvrtc.so.13"
    monkeypatch.delenv("CUDA_PATH")
    assert str(find_toolkit().release) == "13.6"


@pytest.mark.parametrize(("version", "flags"), [((13, 6), 2), ((13, 5), 3)])
def test_bytecode_that_is_too_new(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], flags: int) -> None:
    """The message is about the compiler, and says what to install."""
    code = File(version=version, flags=flags, hints=b"\x0b\0\x06\0").data()
    answer = {"version": version, "status": 0, "log": "", "symbols": {}, "code": base64.b64encode(code).decode()}
    monkeypatch.setattr("tilery.cpp.compiler._ask", lambda request, timeout: answer)
    monkeypatch.setattr("tilery.cpp.compiler.find_toolkit", lambda: Toolkit(Path("libnvrtc.so.13"), ()))
    name = ".".join(map(str, version))
    with pytest.raises(TileError, match=f"is NVRTC {name}, which wrote bytecode {name} that tilery does not") as found:
        build("int x;\n")
    assert found.value.kind is ErrorKind.VERSION and "pip install 'nvidia-cuda-nvrtc<13.5'" in str(found.value)


def test_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILERY_CUDA", str(tmp_path))
    with pytest.raises(TileError, match="TILERY_CUDA names"):
        find_toolkit()
    for name in ("TILERY_CUDA", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TileError) as found:
        find_toolkit()
    assert found.value.notes == ["install it with: pip install 'tilery[cpp]'"]


def test_a_log_is_read() -> None:
    """An error inside NVIDIA's header is shown at the line of the source that led to it."""
    text = "line one\nline two\n"
    log = (
        "cuda_tile.h(12): error: bad thing\n"
        "            operand types are: a + b\n"
        "    some code;\n"
        "         ^\n"
        "cuda_tile.h(4): note #33-D: first\n"
        "  x\n"
        "  ^\n"
        '          detected during instantiation of "f" at line 2 of /d/k.cu\n'
        "\n"
        '1 error detected in the compilation of "/d/k.cu".\n'
    )
    (said,) = read_log(log)
    assert (said.column, said.details, said.notes) == (8, ["operand types are: a + b"], ["cuda_tile.h(4): first"])
    error = located(said, text, "/d/k.cu", "k.cu")
    assert (error.line, error.notes[0]) == (2, "in cuda_tile.h, line 12")


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z1kv", "k"),
        ("_ZN1a1b1kEv", "a::b::k"),
        ("k", "k"),
        ("_Z1kIfEvv", None),
        ("_Z99999999999k", None),
        ("_Z", None),
        ("_ZN1a1kIfEEvv", None),
    ],
)
def test_names_of_symbols(symbol: str, name: str | None) -> None:
    assert plain_name(symbol) == name


def test_overloads_keep_their_symbols() -> None:
    assert name_kernels(["_Z1kPf", "_Z1kPi", "_Z1fv"], {}) == {"_Z1kPf": "_Z1kPf", "_Z1kPi": "_Z1kPi", "f": "_Z1fv"}
