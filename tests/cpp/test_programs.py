"""Whole programs: host code beside tile code."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilery import cpp
from tilery.cli.main import main
from tilery.cpp.host_part import host_code
from tilery.cpp.program import HostProgram, build_program, kernels_of, run_program
from tilery.cpp.tile_part import read_sources
from tilery.cpp.tokens import declarations, tokens
from tilery.diag import ErrorKind, TileError

HERE = Path(__file__).parent / "programs"
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")

PIECES = [
    "__tile__ ",
    "__tile_global__ ",
    "TILERY_KERNEL ",
    "TILERY_TILE ",
    "TILERY_SIMT ",
    "void f",
    "(",
    ")",
    "{",
    "}",
]
PIECES += [
    "<<<",
    ">>>",
    "<",
    ">",
    ";",
    ",",
    "=",
    "::",
    ":",
    "template ",
    "namespace ",
    "struct s",
    "//",
    "/*",
    "*/",
    "\n",
]
PIECES += ['"', "'", 'R"(', "#define A ", "\\", "operator", "requires", "int x", "k", "...", "[", "]", "\0", "é"]


def tile_text(text: str) -> str:
    return read_sources("/nowhere/a.cu", text, []).main.tile_text


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("k ] <<< ]")
def test_any_text_is_taken(text: str) -> None:
    """Whatever the text is, blanking keeps its lines, and the host code is a text or a TileError."""
    blanked = tile_text(text)
    assert len(blanked) == len(text)
    assert [at for at, letter in enumerate(text) if letter == "\n"] == [
        at for at, letter in enumerate(blanked) if letter == "\n"
    ]
    for declaration in declarations(found := tokens(text)):
        assert 0 <= declaration.start < declaration.end <= len(found)
    with suppress(TileError):
        host_code(text)


def test_long_texts_take_time_in_proportion() -> None:
    """Deep brackets and many launches are read in one pass over the text."""
    for text in (
        "(" * 30_000,
        "{" * 30_000,
        "k<<<1,1>>>(x);" * 3_000,
        "template<" * 2_000,
        "TILERY_TILE " * 30_000,
    ):
        tile_text(text)
        with suppress(TileError):
            host_code(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("int main() { return 0; }", ""),
        ("__tile__ int f() { return 1; }", "__tile__ int f() { return 1; }"),
        ("void host(); constexpr int n = 4;", "constexpr int n = 4;"),
        (
            "#define T __tile__\nT int f() { return 1; } int g() { return 2; }",
            "#define T __tile__\nT int f() { return 1; }",
        ),
        ("__global__ void k(int* x) { *x = 1; }", ""),
        ("namespace a { void f() {} __tile__ void g() {} }", "namespace a {             __tile__ void g() {} }"),
        ("template <class T> void f(T x) { x(); }", ""),
        ('extern "C" { int f(); }', 'extern "C" {          }'),
        ("A::A(int x) : x_{x}, y_(2) { go(); } struct S { int a; };", "struct S { int a; };"),
    ],
)
def test_tile_part(text: str, kept: str) -> None:
    assert tile_text(text).strip() == kept


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("k<<<g, b>>>(x);", "::tilery::Grid(g, b).run([&] { k(x); });"),
        (
            "if (a) ns::k<float, 4><<<g, 1, 0, s>>>();",
            "if (a) ::tilery::Grid(g, 1, 0, s).run([&] { ns::k<float, 4>(); });",
        ),
        ("else ::k<<<f(1, 2), 1>>>(x);", "else ::tilery::Grid(f(1, 2), 1).run([&] { ::k(x); });"),
        ("t.kernels[2]<<<1, 1>>>(y)", "::tilery::Grid(1, 1).run([&] { t.kernels[2](y); })"),
        ("(*p)<<<1, 1>>>(y)", "::tilery::Grid(1, 1).run([&] { (*p)(y); })"),
        ("TILERY_TILE TILERY_HOST int f() { return 1; }", "  int f() { return 1; }"),
        ("TILERY_TILE auto f(int x) { return x; }", " auto f(int x) ;"),
        (
            "TILERY_SIMT void k(int* x) { *x = 1; }",
            " void k(int* x) { ::tilery::each_thread([=]() mutable { *x = 1; }); }",
        ),
    ],
)
def test_host_part(text: str, made: str) -> None:
    assert host_code(text) == made


def test_stub_passes_every_parameter() -> None:
    made = host_code(
        "TILERY_KERNEL void k(float x, const int* __restrict__, ns::T n = {}, unsigned a[4], Ts*... ts) {}"
    )
    assert "{(void*)&x, (void*)&tilery_argument1, (void*)&n, (void*)&a, (void*)&ts...}" in made
    assert "__restrict__ tilery_argument1," in made


@pytest.mark.nvrtc
class TestTilePrograms:
    def test_kernels_of_a_mixed_file(self) -> None:
        program = cpp.build(HERE / "whole.cu", ["scale<float, 64, false>"])
        assert set(program.kernels) == {"(anonymous namespace)::add", "scale<float, 64, false>"}
        assert program.symbol("add") == "_ZN12_GLOBAL__N_13addEPKfS1_Pfl".replace("Pfl", "Pfx")

    def test_names_are_the_same_in_every_compilation(self) -> None:
        first, second = (cpp.bytecode(HERE / "whole.cu", ["scale<float, 64, true>"]) for _ in range(2))
        assert first == second

    def test_lines_are_kept(self) -> None:
        text = "#include <vector>\nint main() {\n  return 0;\n}\n__tile_global__ void k(int* x) { *x = y; }\n"
        with pytest.raises(TileError, match="y") as caught:
            cpp.build(text)
        assert caught.value.line == 5

    def test_what_was_left_out_is_named(self) -> None:
        """A helper that the compiler refuses is left out of a mixed file; the error that follows says so."""
        text = "int main() {}\nconstexpr int f() { return g(); }\n__tile_global__ void k(int* x) { *x = f(); }\n"
        with pytest.raises(TileError) as caught:
            cpp.build(text)
        assert any("left out as host code, line 2" in str(note) for note in caught.value.notes)

    @pytest.mark.parametrize("header", ["cmath", "type_traits", "limits", "cstdint", "vector", "stdio.h", "array"])
    def test_standard_headers(self, header: str) -> None:
        cpp.build(f"#include <{header}>\n__tile_global__ void k(float* x, uint64_t n) {{ *x = INFINITY + n; }}\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    return build_program(HERE / "whole.cu", tmp_path_factory.mktemp("whole"))


def is_running(pid: int) -> bool:
    """Whether a process of this user is there and has not ended."""
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.nvrtc
@needs_compiler
class TestHostPrograms:
    def test_a_whole_program(self, whole: HostProgram, capfd: pytest.CaptureFixture[str]) -> None:
        assert run_program(whole, ["77"]) == 0
        assert capfd.readouterr().out == "0 wrong of 77, timed 1\n"

    def test_instances_are_those_that_the_host_uses(self, whole: HostProgram) -> None:
        assert len(kernels_of(whole.library)) == 3
        assert sorted(whole.symbols.values()) == sorted(cpp.Program(whole.bytecode, "").kernels.values())

    def test_headers_in_angle_brackets_and_floats_for_templates(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Headers of host code in a folder of -I are the program's, and an instance may have a float argument."""
        folder = tmp_path / "common"
        folder.mkdir()
        (folder / "outer.h").write_text("#include <inner.h>\n")
        (folder / "inner.h").write_text(
            '#include <cstdio>\ninline int say(float x) { return std::printf("%g\\n", x); }\n'
        )
        (tmp_path / "a.cu").write_text(
            "#include <outer.h>\ntemplate <float F, int N> __tile_global__ void k(float* x) { *x = F * N; }\n"
            "int main() { float* x; cudaMallocManaged(&x, 4); k<-0.1f, 4><<<1>>>(x); cudaDeviceSynchronize();\n"
            "  say(*x); }\n"
        )
        assert main(["cpp", "run", "-I", str(folder), str(tmp_path / "a.cu")]) == 0
        assert capfd.readouterr().out == "-0.4\n"

    def test_faults(self, capfd: pytest.CaptureFixture[str]) -> None:
        """A fault is reported, the program sees CUDA's error, and its status is 1 although `main` returns 0."""
        assert main(["cpp", "run", str(HERE / "faulty.cu"), "--", "once"]) == 1
        out, said = capfd.readouterr()
        assert out == "2 cudaErrorIllegalAddress\ncudaErrorInvalidValue\n"
        assert "0 bytes after the end of allocation 0 (240 bytes)" in said and "faulty.cu:10" in said

    def test_a_program_that_crashes(self, tmp_path: Path) -> None:
        file = tmp_path / "crash.cu"
        file.write_text(
            "#include <cstdlib>\n__tile_global__ void k() {}\nint main() { k<<<1, 1>>>(); std::abort(); }\n"
        )
        with pytest.raises(TileError, match="ended by SIGABRT"):
            run_program(build_program(file, tmp_path))

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_a_killed_command_leaves_no_program(self, tmp_path: Path) -> None:
        """A program that never returns ends with `tilery`, even if that is killed and cannot tell it."""
        file = tmp_path / "endless.cu"
        file.write_text(
            "#include <cstdio>\n#include <unistd.h>\n__tile_global__ void k() {}\n"
            'int main() { k<<<1, 1>>>(); std::printf("%d\\n", int(getpid())); std::fflush(stdout); for (;;) {} }\n'
        )
        command = [sys.executable, "-m", "tilery", "cpp", "run", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            program = int(process.stdout.readline())
            process.kill()
        for _ in range(300):
            if not is_running(program):
                return
            time.sleep(0.1)
        os.kill(program, signal.SIGKILL)
        pytest.fail("the program is still running after 30 s")

    def test_errors_of_host_code(self, tmp_path: Path) -> None:
        file = tmp_path / "wrong.cu"
        file.write_text("int main() {\n  return missing;\n}\n")
        with pytest.raises(TileError, match="missing") as caught:
            build_program(file, tmp_path)
        assert caught.value.line == 2
        file.write_text('extern "C" int cublasCreate(void*);\nint main() { return cublasCreate(0); }\n')
        with pytest.raises(TileError, match="the host code uses cublasCreate, which is missing here"):
            build_program(file, tmp_path)

    def test_options_for_kernels_are_refused(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert main(["cpp", "run", str(HERE / "whole.cu"), "--stats"]) == 2
        assert "--stats is for a kernel" in capfd.readouterr().err


@pytest.mark.nvrtc
def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    with pytest.raises(TileError) as caught:
        build_program(HERE / "whole.cu", tmp_path)
    assert caught.value.kind is ErrorKind.MISSING_TOOL
