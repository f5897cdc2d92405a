"""Measure how long diagnostics take after a keystroke, in the server and inside a process.

    python bench/keystroke.py [--lines 20000] [--keys 10] [--priority 0] [--json FILE]

The texts have one function of that many lines, or 20 functions. Each keystroke changes one line in the middle, and
every second one makes the text wrong. What is printed says what the columns mean; scripts/editors/report.py makes a
page of the file. As root, --priority 15 makes the bench precede other programs on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "src"), str(ROOT / "bench")]

from lsprotocol import types as lsp  # noqa: E402  # found only now
from pygls.lsp.client import LanguageClient  # noqa: E402

from modules import mixed  # noqa: E402
from tilery.lsp.diagnostics import diagnostics  # noqa: E402
from tilery.lsp.document import TextDocument  # noqa: E402
from tilery.text.print.printer import show  # noqa: E402

URI = "file:///bench.mlir"
LIMITS = {20: 100, 1: 600}
"""The milliseconds that a check should take, by the number of functions."""


def text_of(lines: int, functions: int) -> str:
    """A text of about that many lines."""
    count = lines // functions
    while True:
        text = show(mixed(count))
        got = text.count("\n")
        if abs(got - lines // functions) <= max(40, lines // functions // 50):
            break
        count = count * (lines // functions) // got
    return "".join(text.replace("entry @k(", f"entry @k{n}(", 1) for n in range(functions))


def variants(text: str) -> tuple[str, str, lsp.Position]:
    """The text with a longer name in the middle, the same with an error, and where they differ from it."""
    at = text.index(" = exp ", len(text) // 2) + 3
    row, column = text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1
    return text[:at] + " " + text[at:], text[:at] + "q" + text[at:], lsp.Position(row, column)


def inside(text: str, keys: int) -> list[float]:
    """The processor time of each check in this process, in milliseconds."""
    document = TextDocument(URI, text)
    diagnostics(document)
    legal, wrong, _ = variants(text)
    times = []
    for key in range(keys):
        new = wrong if key % 2 else legal if key % 4 else text
        gc.collect()  # the server does it when it is idle
        gc.disable()
        start = time.process_time()
        document = TextDocument(URI, new, key + 1, document)
        found = diagnostics(document)
        times.append(1000 * (time.process_time() - start))
        gc.enable()
        assert bool(found) == (new is wrong), found[:1]
    return times


def raise_priority(by: int) -> None:
    """Precede other programs. Linux shares processors among sessions first, so this becomes one of its own."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text(str(-by))
    os.nice(-by)


def processor_time(pid: int) -> float:
    """The seconds that a process has computed so far; 0 where Linux's files are missing."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def served(text: str, keys: int) -> tuple[list[float], list[float]]:
    """The time from a keystroke to its diagnostics, and the server's processor time for it, in milliseconds."""
    client = LanguageClient("bench", "1")
    arrived: asyncio.Queue[int | None] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]  # pygls
    def published(params: lsp.PublishDiagnosticsParams) -> None:
        arrived.put_nowait(params.version)

    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    await client.start_io(sys.executable, "-m", "tilery", "lsp", env=env)
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "tileir", 1, text)))
    await arrived.get()
    position = variants(text)[2]
    after = lsp.Position(position.line, position.character + 1)
    times, computed = [], []
    assert client._server is not None
    pid = client._server.pid
    for key in range(keys):
        version = key + 2
        await asyncio.sleep(3)  # the server is idle before
        before = processor_time(pid)
        change = (lsp.TextDocumentContentChangePartial(lsp.Range(position, position), "q") if key % 2 == 0 else
                  lsp.TextDocumentContentChangePartial(lsp.Range(position, after), ""))  # fmt: skip
        start = time.perf_counter()
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(version, URI), [change])
        )
        while await arrived.get() != version:
            pass
        times.append(1000 * (time.perf_counter() - start))
        computed.append(1000 * (processor_time(pid) - before))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]  # pygls
    return times, computed


def section(found: dict[str, Any]) -> str:
    """Return the part of a page about measurements."""
    table = "\n".join(
        f"| {r['functions']} | {r['lines']:,} | {r['limit']} | {statistics.median(r['inside']):.0f} | "
        f"{max(r['inside']):.0f} | {statistics.median(r['computed']):.0f} | {max(r['computed']):.0f} | "
        f"{statistics.median(r['server']):.0f} | {max(r['server']):.0f} |"
        for r in found["rows"]
    )
    return f"""## Diagnostics after a keystroke

`{found["command"]}` measured this on {found["machine"]};
the load average was {found["load"]} at the end.

Each of {found["keys"]} keystrokes changes one line in the middle of the text, and every second one makes it wrong.
Times are in milliseconds. `inside` is the processor time of reading and verifying what changed. `server` is that of the
server for a keystroke, in steps of ten milliseconds. `waited` is the time from sending the change until diagnostics
arrive, with the pause after a keystroke and waiting for a processor: with a load average above the number of
processors, and without a raised priority, it says more about the other programs.

| functions | lines | wanted | inside, median | most | server, median | most | waited, median | most |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--priority", type=int, default=0)
    args = parser.parse_args()
    if args.priority:
        raise_priority(args.priority)
    rows = []
    for functions, limit in LIMITS.items():
        text = text_of(args.lines, functions)
        row: dict[str, Any] = {"functions": functions, "lines": text.count("\n"), "limit": limit}
        row["inside"] = inside(text, args.keys)
        row["server"], row["computed"] = asyncio.run(served(text, args.keys))
        rows.append(row)
    found = {
        "command": f"python bench/keystroke.py --lines {args.lines} --keys {args.keys} --priority {args.priority}",
        "machine": f"CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors",
        "load": " ".join(f"{each:.1f}" for each in os.getloadavg()),
        "keys": args.keys,
        "rows": rows,
    }
    if args.json:
        args.json.write_text(json.dumps(found), encoding="utf-8")
    print(section(found))


if __name__ == "__main__":
    main()
