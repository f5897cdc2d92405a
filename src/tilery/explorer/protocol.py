"""The protocol of the explorer: a function from a request to a response, both JSON objects, without a transport.

A request names what to do in `do`; its other fields are documented with each method of `Explorer`. A response has
`ok`, and either the fields that the method returns or an `error` with a message, notes and a place. Nothing but `run`,
`values`, `prove` and `compile` executes a kernel or a source, and a page sends those only when the user asks for it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..declare.fastclass import dataclass
from ..diag import TileError, did_you_mean, enough_memory
from ..source.input import Input
from ..source.lines import places, readable
from .documents import Documents, Opened
from .frontends import kernels, language_of
from .operations import analyse, error_data
from .requests import Request

Runner = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Does a job of `launching.job`, in a process of its own or in this one."""
MAX_SOURCE = 1 << 20
MAX_SOURCES = 16
"""The most characters of a source file, and the most source files of a kernel, that a page shows."""
SOURCES = (".py", ".cu", ".cuh", ".cpp", ".cxx", ".cc", ".h", ".hpp", ".mlir")
"""The names of files that are shown as sources: debug information may name any file."""
DEFAULT_PASSES = "canonicalize,cse"
APART = ("hello", "open", "kernels", "run", "values", "prove", "compile", "remarks", "stop")
"""Requests that need no text that is kept, or take the lock themselves: other requests are answered meanwhile."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that the user named: its content is bytecode, text, or a source in another language."""

    name: str
    data: bytes


class JobFailed(TileError):
    """A job failed; `data` is its error, as a response has it."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(str(data.get("message", "")))
        self.data = data


class Explorer:
    """Answers requests. `files` are what the user opened; only they, and the sources that they name, are shown.

    >>> explorer = Explorer()
    >>> explorer.answer({"do": "analyse", "text": "entry @k() { return }"})["functions"][0]["name"]
    'k'
    >>> explorer.answer({"do": "anlyse"})["error"]["message"]
    "there is no request 'anlyse'; did you mean 'analyse'?"
    """

    def __init__(self, files: Sequence[File] = (), runner: Runner | None = None) -> None:
        self.files, self.runner = list(files), runner
        self.documents = Documents()
        self._lock = threading.RLock()
        self._methods: dict[str, Callable[[Request], dict[str, Any]]] = {
            "hello": self.hello,
            "open": self.open,
            "load": self.load,
            "analyse": self.analyse,
            "hover": self.hover,
            "complete": self.complete,
            "format": self.format,
            "bytes": self.bytes,
            "pipeline": self.pipeline,
            "graph": self.graph,
            "cost": self.cost,
            "form": self.form,
            "remarks": self.remarks,
            "run": self.run,
            "values": self.values,
            "prove": self.prove,
            "compile": self.compile,
            "kernels": self.kernels,
            "stop": self.stop,
            "export": self.export,
        }

    def answer(self, fields: Any) -> dict[str, Any]:
        """Return the response to a request. What is wrong with a request or its input is part of the response."""
        number = fields.get("id") if isinstance(fields, Mapping) else None
        head: dict[str, Any] = {"id": number} if isinstance(number, (int, str)) else {}
        try:
            request = Request(fields)
            what = request.text("do", limit=100)
            if what not in self._methods:
                raise TileError(f"there is no request '{what}'{did_you_mean(what, self._methods)}")
            with enough_memory("answer the request"):
                if what in APART:
                    return {**head, "ok": True, **self._methods[what](request)}
                with self._lock:
                    return {**head, "ok": True, **self._methods[what](request)}
        except JobFailed as error:
            return {**head, "ok": False, "error": error.data}
        except TileError as error:
            return {**head, "ok": False, "error": error_data(error)}
        except RecursionError:
            return {**head, "ok": False, "error": {"message": "the input is nested too deeply", "notes": []}}

    # ------------------------------------------------------------ files and texts

    def hello(self, request: Request) -> dict[str, Any]:
        """Return what this explorer can do, and the names of its files and examples."""
        from .costs import gpus
        from .pipeline import passes

        runs = self.runner is not None and find_spec("numpy") is not None
        return {
            "version": sys.modules["tilery"].__version__,
            "files": [{"name": file.name, "language": language_of(file.name, file.data)} for file in self.files],
            "examples": [path.stem for path in _examples()],
            "passes": passes(),
            "default_passes": DEFAULT_PASSES,
            "gpus": gpus(),
            "can_run": runs,
            "engines": _engines() if runs else [],
            "checks": _checks() if runs else [],
            "languages": _languages() if self.runner is not None else [],
            "bits": runs and find_spec("z3") is not None,
            "remarks": _remarks() if self.runner is not None else False,
        }

    def open(self, request: Request) -> dict[str, Any]:
        """Return a `file` of the user (a number) or an `example` (a name) as text; `first` is what to start with."""
        if request.has("first") and not self.files:
            request = Request({"example": _examples()[0].stem})
        if request.has("example"):
            known = {path.stem: path for path in _examples()}
            name = request.choice("example", list(known))
            return {"name": f"{name}.mlir", "text": known[name].read_text("utf-8"), "origin": "", "sources": []}
        number = request.integer("file", 0)
        if number >= len(self.files):
            raise TileError(f"there is no file {number}")
        file = self.files[number]
        language = language_of(file.name, file.data)
        if language:
            text = file.data.decode("utf-8", "replace")
            source = {"name": file.name, "language": language, "text": text, "kernels": kernels(language, text)}
            return {"name": file.name, "text": None, "origin": "", "sources": [source]}
        return self._opened(file.data, file.name, with_sources=True)

    def load(self, request: Request) -> dict[str, Any]:
        """Return `bytecode` (base64) as text."""
        return self._opened(request.data("bytecode"), request.text("name", "kernel.tileirbc", limit=1000))

    def _opened(self, data: bytes, name: str, with_sources: bool = False) -> dict[str, Any]:
        given = Input(data, file=name)
        if given.is_text and given.text is not None:
            text = given.text.replace("\r\n", "\n").replace("\r", "\n")  # as an editor holds it
            return {"name": name, "text": text, "origin": "", "sources": []}
        with self._lock:
            origin = self.documents.add(data, name)
            found = _sources(self.documents.open(origin.text, origin.key)) if with_sources else []
        return {"name": name, "text": origin.text, "origin": origin.key, "sources": found}

    def _text(self, request: Request) -> Opened:
        return self.documents.open(request.text("text"), request.text("origin", "", limit=100))

    def analyse(self, request: Request) -> dict[str, Any]:
        """Return the operations, errors and kernels of a `text`; `origin` is the key of the bytecode it came from."""
        return analyse(self._text(request))

    def hover(self, request: Request) -> dict[str, Any]:
        """Describe what is `at` an offset of a `text`."""
        from .editing import hover

        return hover(self._text(request), request.integer("at"))

    def complete(self, request: Request) -> dict[str, Any]:
        """List what may be written `at` an offset of a `text`."""
        from .editing import complete

        return complete(self._text(request), request.integer("at"))

    def format(self, request: Request) -> dict[str, Any]:
        """Lay out a `text`."""
        from .editing import formatted

        return formatted(self._text(request))

    # ------------------------------------------------------------ views of a module

    def bytes(self, request: Request) -> dict[str, Any]:
        """Return the bytecode of a `text`, annotated, of a `version` if one is named."""
        from .annotated import annotate

        return annotate(self._text(request), request.text("version", "", limit=20))

    def pipeline(self, request: Request) -> dict[str, Any]:
        """Run `passes` on a `text`, step by step."""
        from .pipeline import run_passes

        return run_passes(self._text(request), request.text("passes", DEFAULT_PASSES, limit=10_000))

    def graph(self, request: Request) -> dict[str, Any]:
        """Return the graph of a `function` of a `text`, by id; of a large one, what is `around` an operation."""
        from .graph import graph

        return graph(self._text(request), request.integer("function"), request.integer("around", 0))

    def cost(self, request: Request) -> dict[str, Any]:
        """Return what the kernels of a `text` cost on a `grid`, and what a `gpu` can make of them."""
        from .costs import costs

        return costs(self._text(request), request.text("gpu", "B200", limit=100), request.integers("grid", [1]))

    def form(self, request: Request) -> dict[str, Any]:
        """Return the parameters of the kernels of a `text`, and arguments to start with."""
        from .launching.form import forms

        opened = self._text(request)
        opened.legal()
        return {"kernels": forms(opened)}

    def remarks(self, request: Request) -> dict[str, Any]:
        """Compile a `text` for a `target` with tileiras, and return its remarks."""
        from .costs import compiler_remarks

        if self.runner is None:
            raise TileError("tileiras cannot run here")
        text, origin = request.text("text"), request.text("origin", "", limit=100)
        with self._lock:
            opened = self.documents.open(text, origin)
            opened.legal()
        target, level = request.text("target", "sm_100", limit=20), request.integer("level", 3, high=3)
        return compiler_remarks(opened, target, level)

    def export(self, request: Request) -> dict[str, Any]:
        """Return a `text` and all its panes as one HTML file; `run` is the response of a run to show, if any."""
        from .export import export_html, recorded

        text, name = request.text("text"), request.text("name", "kernel", limit=1000)
        run = request.fields.get("run")
        choices = {
            "origin": request.text("origin", "", limit=100),
            "passes": request.text("passes", DEFAULT_PASSES, limit=10_000),
            "gpu": request.text("gpu", "B200", limit=100),
            "grid": request.integers("grid", [1]),
        }
        sources = request.fields.get("sources")
        data = recorded(self._ask, text, name, choices, run if isinstance(run, dict) else None)
        data["sources"] = sources if isinstance(sources, list) else []
        return {"html": export_html(data)}

    def _ask(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Answer a request that is part of another one."""
        try:
            return {"ok": True, **self._methods[fields["do"]](Request(fields))}
        except TileError as error:
            return {"ok": False, "error": error_data(error)}

    # ------------------------------------------------------------ what executes something

    def run(self, request: Request) -> dict[str, Any]:
        """Run a kernel of a `text`: `entry`, `grid`, `args`, `convention`, `engine`, `sanitize`, `seed` and `block`."""
        return self._job("run", request)

    def values(self, request: Request) -> dict[str, Any]:
        """Run a kernel again, and return the tiles of an `op` in a tile `block`, of one `occurrence`."""
        return self._job("values", request)

    def prove(self, request: Request) -> dict[str, Any]:
        """Tell whether a kernel of a `text` and one of an `other` text compute the same.

        `how` is `reals`, for the launch that `entry`, `other_entry`, `grid`, `other_grid`, `args` and `convention`
        describe, where arrays of floats hold any real numbers; or `bits`, for all inputs, by Z3.
        """
        return self._job("prove", request)

    def compile(self, request: Request) -> dict[str, Any]:
        """Compile a `source` in a `language`; compiling cuTile or Triton runs the file."""
        made = self._job("compile", request)
        opened = self._opened(_decoded(made["bytecode"]), made["file"])
        return {**opened, "file": made["file"], "launch": made["launch"], "messages": made["messages"]}

    def kernels(self, request: Request) -> dict[str, Any]:
        """List the kernels of a `source` in a `language` without running it."""
        from .frontends import LANGUAGES

        return {"kernels": kernels(request.choice("language", LANGUAGES), request.text("source", limit=MAX_SOURCE))}

    def stop(self, request: Request) -> dict[str, Any]:
        """Stop the run that is under way."""
        halt = getattr(self.runner, "stop", None)
        return {"stopped": bool(halt and halt())}

    def _job(self, job: str, request: Request) -> dict[str, Any]:
        if self.runner is None:
            raise TileError("kernels cannot run here: there is no NumPy")
        made = self.runner(job, dict(request.fields))
        if not made.pop("ok"):
            raise JobFailed(made["error"])
        return made


def _decoded(text: str) -> bytes:
    return Request({"data": text}).data("data")


def _sources(opened: Opened) -> list[dict[str, Any]]:
    """Return the source files that the locations of a file name, if they may be read."""
    names = dict.fromkeys(place.file for loc in set(opened.locations) for place in places(loc))
    found: list[dict[str, Any]] = []
    for name in list(names)[: 10 * MAX_SOURCES]:
        if len(found) < MAX_SOURCES and name.endswith(SOURCES) and readable(name):
            with open(name, encoding="utf-8", errors="replace") as file:
                text = file.read(MAX_SOURCE)
            language = language_of(name, text)
            found.append({"name": name, "language": language, "text": text, "kernels": kernels(language, text)})
    return found


@cache
def _examples() -> tuple[Path, ...]:
    return tuple(sorted((Path(__file__).parent / "examples").glob("*.mlir")))


def _engines() -> list[str]:
    from ..engines.registry import DEFAULT, ENGINES

    if sys.platform == "emscripten":  # a browser: nothing is compiled there
        return [DEFAULT]
    return [row.name for row in ENGINES.values() if row.installed]


def _checks() -> list[dict[str, Any]]:
    from ..sanitize import CHECKS

    return [{"name": row.name, "summary": row.summary, "hint": row.hint} for row in CHECKS.values()]


@cache
def _languages() -> list[str]:
    from .frontends import available

    return available()


@cache
def _remarks() -> bool:
    from .costs import has_tileiras

    return has_tileiras()
