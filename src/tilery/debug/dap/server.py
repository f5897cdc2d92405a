"""The connection to an editor: a handler for each request."""

from __future__ import annotations

import io
import os
import queue
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import BinaryIO

from ...diag import TileError
from ...engines.common.cutile_abi import function_name
from ..programs import Front, Quit
from ..session import Session
from ..stops import Stop
from ..terminal import Terminal, shown
from .messages import Message, MessageWriter, read_message
from .stops import Wishes, function_place, line_place
from .tree import VariableReferences

Start = Callable[[Message, Front], None]
"""Runs the program that a `launch` request names, and calls the front for each launch of a kernel."""
Motion = Callable[[], Stop]
MOST_BLOCKS = 256
"""Tile blocks that are listed as threads."""

CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsDataBreakpoints": True,
    "supportsStepBack": True,
    "supportsSteppingGranularity": True,
    "supportsEvaluateForHovers": True,
    "supportsExceptionInfoRequest": True,
    "supportsTerminateRequest": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsLoadedSourcesRequest": True,
    "exceptionBreakpointFilters": [
        {"filter": "nan", "label": "NaN and infinities", "description": "Stop where they come from", "default": False},
        {"filter": "report", "label": "Sanitizer reports", "description": "With `sanitize`", "default": True},
    ],
}
REASONS = {"data": "data breakpoint", "nan": "exception", "report": "exception", "end": "step"}


class DebugAdapter:
    """One editor, one program."""

    def __init__(self, input: BinaryIO, output: BinaryIO, start: Start) -> None:
        self.input, self.out, self.start = input, MessageWriter(output), start
        self.requests: queue.Queue[Message | None] = queue.Queue()
        self.wishes = Wishes()
        self.session: Session | None = None
        self.tree: VariableReferences | None = None
        self.arguments: Message = {}
        self.configured = self.pausing = self.leaving = False
        self.stop = Stop("entry")
        self.resume: Motion | None = None
        """Called once the request has been answered."""

    # ------------------------------------------------------------ the connection

    def serve(self) -> None:
        """Serve requests until the editor leaves."""
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._handle_until(lambda: self.configured)
            self._run_program()
            self._handle_until(lambda: self.leaving)
        except Quit:
            pass

    def _read(self) -> None:
        while True:
            try:
                message = read_message(self.input)
            except TileError as error:  # where the next message starts is not known
                self.out.event("output", category="stderr", output=f"{error.message}\n")
                message = None
            except OSError:
                message = None
            self.requests.put(message)
            if message is None:
                return

    def _handle_until(self, done: Callable[[], bool]) -> None:
        while not done():
            message = self.requests.get()
            if message is None:
                self.leaving = True
                raise Quit
            self.handle(message)

    def handle(self, request: Message) -> None:
        """Answer a request; a mistake is an answer too."""
        command = str(request.get("command", ""))
        handler: Callable[[Message], Message | None] | None = getattr(self, f"on_{command}", None)
        given = request.get("arguments")
        if request.get("type") != "request" or handler is None or not command.isidentifier():
            self.out.refuse(request, f"there is no request '{command[:100]}'")
            return
        try:
            body = handler(given if isinstance(given, dict) else {})
        except TileError as error:
            self.out.refuse(request, error.message)
            return
        except (LookupError, ArithmeticError, TypeError, ValueError, AttributeError) as error:
            self.out.refuse(request, f"the arguments of '{command}' are wrong: {error}")
            return
        self.out.respond(request, body)
        if command == "initialize":
            self.out.event("initialized")

    def _run_program(self) -> None:
        code = 0
        try:
            with redirect_stdout(_Output(self.out)):
                self.start(self.arguments, self.front)
        except Quit:
            code = 1
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except TileError as error:
            code = 1
            self.out.event("output", category="stderr", output=f"{error.render()}\n")
        except Exception as error:  # raised by the program
            import traceback

            code = 1
            text = "".join(traceback.format_exception(error))
            self.out.event("output", category="stderr", output=text)
        self.session = self.tree = None
        self.out.event("exited", exitCode=code)
        self.out.event("terminated")

    # ------------------------------------------------------------ a launch

    def front(self, session: Session) -> None:
        """Debug a launch, until it ends."""
        if self.leaving:
            raise Quit
        self.session = session
        session.log = lambda text: self.out.event("output", category="console", output=text)
        for wanted in self.wishes.bind(session):
            self.out.event("breakpoint", reason="changed", breakpoint=wanted.as_item())
        stop: Stop | None = Stop("entry") if self.arguments.get("stopOnEntry") else None
        if stop is None:
            stop = session._hit() or self._move(session.cont)
        while stop is not None and stop.reason != "end":
            self._tell(stop)
            self.resume = None
            self._handle_until(lambda: self.resume is not None or self.leaving)
            if self.leaving:
                raise Quit
            assert self.resume is not None
            if session.failure is not None and not self._goes_back():
                return
            stop = self._move(self.resume)

    def _goes_back(self) -> bool:
        session = self.session
        backward = [session.step_back, session.line_back, session.reverse] if session else []
        return self.resume in backward

    def _move(self, motion: Motion) -> Stop:
        session = self.session
        assert session is not None
        self.pausing = False
        return session.cont(self._poll) if motion == session.cont else motion()

    def _poll(self) -> bool:
        """Answer requests while the program runs; return whether to pause."""
        while not self.pausing and not self.leaving:
            try:
                message = self.requests.get_nowait()
            except queue.Empty:
                return False
            if message is None:
                self.leaving = True
                raise Quit
            self.handle(message)
        return True

    def _tell(self, stop: Stop) -> None:
        session = self.session
        assert session is not None
        self.stop, self.tree = stop, VariableReferences(session)
        self.out.event(
            "stopped",
            reason=REASONS.get(stop.reason, stop.reason),
            description=stop.text or stop.reason,
            text=stop.text,
            threadId=session.rank + 1,
            allThreadsStopped=True,
            hitBreakpointIds=self.wishes.of(session, stop.breakpoints),
        )

    def _stopped(self) -> Session:
        if self.session is None or self.tree is None:
            raise TileError("no kernel is running")
        return self.session

    # ------------------------------------------------------------ requests: start and end

    def on_initialize(self, given: Message) -> Message:
        return CAPABILITIES

    def on_launch(self, given: Message) -> None:
        self.arguments = given

    def on_configurationDone(self, given: Message) -> None:
        self.configured = True

    def on_disconnect(self, given: Message) -> None:
        self.leaving = True
        self.configured = True

    on_terminate = on_disconnect

    # ------------------------------------------------------------ requests: breakpoints

    def on_setBreakpoints(self, given: Message) -> Message:
        source = given["source"]
        file = str(source.get("path") or source.get("name") or "")
        places = [line_place(file, item) for item in given.get("breakpoints", [])]
        return self._set(file, places)

    def on_setFunctionBreakpoints(self, given: Message) -> Message:
        return self._set("functions", [function_place(item) for item in given["breakpoints"]])

    def on_setDataBreakpoints(self, given: Message) -> Message:
        places = [{"watch": item["dataId"], "condition": item.get("condition") or ""} for item in given["breakpoints"]]
        return self._set("data", places)

    def on_setExceptionBreakpoints(self, given: Message) -> Message:
        self.wishes.filters = {str(name) for name in given.get("filters", [])}
        if self.session is not None:
            self.wishes.catch(self.session)
        return {}

    def _set(self, group: str, places: list[Message]) -> Message:
        return {"breakpoints": [each.as_item() for each in self.wishes.replace(group, places, self.session)]}

    def on_dataBreakpointInfo(self, given: Message) -> Message:
        name, reference = str(given["name"]), int(given.get("variablesReference") or 0)
        found = self.tree.element_of(reference, name) if self.tree is not None and reference else name
        if found is None or "[" not in found:
            return {"dataId": None, "description": "only elements of arrays can be watched"}
        return {"dataId": found, "description": f"writes to {found}", "accessTypes": ["write"]}

    def on_breakpointLocations(self, given: Message) -> Message:
        session = self.session
        if session is None:
            return {"breakpoints": []}
        first = int(given["line"])
        last = int(given.get("endLine") or first)
        lines = {place.line for each in session.program.code if (place := session.source.place(each.op)) is not None}
        return {"breakpoints": [{"line": line} for line in sorted(lines) if first <= line <= last]}

    def on_loadedSources(self, given: Message) -> Message:
        session = self.session
        code = [] if session is None else session.program.code
        files = {place.file for each in code if session and (place := session.source.place(each.op)) is not None}
        return {"sources": [{"name": file.rpartition("/")[2], "path": file} for file in sorted(files)]}

    # ------------------------------------------------------------ requests: where it is

    def on_threads(self, given: Message) -> Message:
        session = self.session
        if session is None:
            return {"threads": [{"id": 1, "name": "no kernel"}]}
        blocks = session.together() + [block for block, _ in session.waiting()]
        if session.block not in blocks[:MOST_BLOCKS]:
            blocks.insert(0, session.block)
        ranks = sorted(session.rank_of(block) for block in blocks[:MOST_BLOCKS])
        return {"threads": [{"id": rank + 1, "name": f"block {session.block_of(rank)}"} for rank in ranks]}

    def on_stackTrace(self, given: Message) -> Message:
        session = self._stopped()
        rank = int(given["threadId"]) - 1
        o = session.op_of(rank)
        if o is None:
            return {"stackFrames": [], "totalFrames": 0}
        places = session.source.places(o)
        frames = []
        for number, place in enumerate(places or [None]):
            name = (place.function if place is not None else "") or f"@{function_name(session.kernel.name)}"
            name = f"{o.name} in {name}" if number == 0 else name
            frame: Message = {"id": rank * 100 + number, "name": name, "line": 0, "column": 0}
            if place is not None:
                source = {"name": place.file.rpartition("/")[2] or "text", "path": place.file}
                frame.update(line=place.line, column=place.column, source=source)
            frames.append(frame)
        return {"stackFrames": frames, "totalFrames": len(frames)}

    def on_scopes(self, given: Message) -> Message:
        self._stopped()
        assert self.tree is not None
        return {"scopes": self.tree.scopes(int(given["frameId"]) // 100)}

    def on_variables(self, given: Message) -> Message:
        self._stopped()
        assert self.tree is not None
        start, count = int(given.get("start") or 0), int(given.get("count") or 0)
        items = self.tree.children(int(given["variablesReference"]), start, count)
        if given.get("filter") == "indexed":
            items = [item for item in items if item["name"].startswith("[")]
        elif given.get("filter") == "named":
            items = [item for item in items if not item["name"].startswith("[")]
        return {"variables": items}

    def on_evaluate(self, given: Message) -> Message:
        session = self._stopped()
        assert self.tree is not None
        text = str(given["expression"])
        if given.get("frameId") is not None:
            session.look_at(int(given["frameId"]) // 100)
        if given.get("context") == "repl" and text.startswith(":"):
            return {"result": self._command(session, text[1:]), "variablesReference": 0}
        value = session.evaluate(text)
        import numpy as np

        found = self.tree.unfold(value, f"({text})") if isinstance(value, np.ndarray) else {"variablesReference": 0}
        return {"result": shown(value), "type": str(getattr(value, "dtype", type(value).__name__)), **found}

    def _command(self, session: Session, text: str) -> str:
        """Execute a command of the terminal; one that moves is executed after the answer."""
        said: list[str] = []
        terminal = Terminal(session, said.append)
        session.log = lambda line: self.out.event("output", category="console", output=line)
        here = session.position, session.rank
        terminal.execute(text)
        if (session.position, session.rank) != here:
            self.resume = lambda: Stop("step")
        return "".join(said).rstrip("\n")

    def on_exceptionInfo(self, given: Message) -> Message:
        self._stopped()
        return {"exceptionId": self.stop.reason, "description": self.stop.text, "breakMode": "always"}

    # ------------------------------------------------------------ requests: motion

    def _go(self, given: Message, motion: str) -> None:
        session = self._stopped()
        if given.get("threadId") is not None:
            session.look_at(int(given["threadId"]) - 1)
        self.resume = getattr(session, motion)

    def on_continue(self, given: Message) -> Message:
        self._go(given, "cont")
        return {"allThreadsContinued": True}

    def on_next(self, given: Message) -> None:
        self._go(given, "step" if given.get("granularity") == "instruction" else "step_line")

    def on_stepIn(self, given: Message) -> None:
        self._go(given, "step")

    def on_stepOut(self, given: Message) -> None:
        self._go(given, "step_out")

    def on_stepBack(self, given: Message) -> None:
        self._go(given, "step_back" if given.get("granularity") == "instruction" else "line_back")

    def on_reverseContinue(self, given: Message) -> None:
        self._go(given, "reverse")

    def on_pause(self, given: Message) -> None:
        self.pausing = True


class _Output(io.TextIOBase):
    """Standard output of the program, as events."""

    def __init__(self, out: MessageWriter) -> None:
        self._out = out

    def write(self, text: str) -> int:
        if text:
            self._out.event("output", category="stdout", output=text)
        return len(text)

    def writable(self) -> bool:
        return True


def serve(start: Start) -> None:
    """Serve an editor over standard input and output."""
    # A thread still reads when the process ends. To close its stream would wait for it, as Python does with its own.
    input = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    DebugAdapter(input, sys.stdout.buffer, start).serve()
