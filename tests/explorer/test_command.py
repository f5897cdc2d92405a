"""`tilery explore` as a process, and the protocol in Pyodide."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from support.command import ENV
from tilery.explorer import Explorer
from tilery.explorer.playground import write_playground

from .requests import example, requests

PYODIDE = os.environ.get("TILERY_PYODIDE", "")
"""The folder of the npm package `pyodide`."""
NODE = """
import fs from "node:fs";
import {loadPyodide} from "PYODIDE/pyodide.mjs";
const pyodide = await loadPyodide();
pyodide.unpackArchive(new Uint8Array(fs.readFileSync("site/tilery.zip")), "zip", {extractDir: "/site"});
const answer = pyodide.runPython(`
import json, sys
sys.path.insert(0, "/site")
from tilery.explorer.protocol import Explorer
explorer = Explorer()
lambda text: json.dumps([explorer.answer(request) for request in json.loads(text)])
`);
fs.writeFileSync("answers.json", answer(fs.readFileSync("requests.json", "utf8")));
"""


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(example("add"))
    command = [sys.executable, "-m", "tilery", "explore", str(source), "--no-browser"]
    # A shell that starts the tests in the background lets its children ignore the signal.
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENV, text=True, preexec_fn=listens) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            browser = build_opener(HTTPCookieProcessor())
            assert b"tilery explorer" in browser.open(url, timeout=20).read()
            origin = url.partition("/?")[0]
            headers = {"Origin": origin, "Content-Type": "application/json"}
            body = json.dumps({"do": "open", "first": True}).encode()
            found = json.load(browser.open(Request(f"{origin}/api", body, headers), timeout=20))
            assert found["text"] == source.read_text()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


@pytest.mark.skipif(not PYODIDE or shutil.which("node") is None, reason="needs Node, and TILERY_PYODIDE")
def test_pyodide_answers_like_this_python(tmp_path: Path) -> None:
    write_playground(tmp_path / "site", Path(PYODIDE))
    asked = requests()
    (tmp_path / "requests.json").write_text(json.dumps(asked))
    (tmp_path / "run.mjs").write_text(NODE.replace("PYODIDE", str(Path(PYODIDE).resolve())))
    subprocess.run(["node", "run.mjs"], cwd=tmp_path, check=True, timeout=300)
    explorer = Explorer()
    answers = json.loads((tmp_path / "answers.json").read_text())
    for request, answer in zip(asked, answers, strict=True):
        expected = explorer.answer(request)
        if "diagnostics" in expected:  # the linter needs NumPy, which is not there
            expected["diagnostics"] = [each for each in expected["diagnostics"] if not each["rule"]]
        assert answer == expected, request["do"]
