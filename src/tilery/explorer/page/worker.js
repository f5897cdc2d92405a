// The worker of the playground: loads Pyodide and tilery from this site, and answers requests one after the other.
import {loadPyodide} from "./pyodide/pyodide.mjs";

const began = performance.now();
const times = {};
const LOADED = 0.8;  // the part of the bar for what is fetched
let answer = null, fetched = 0, expected = 0, stage = "starting", part = 0, broken = false;

/** Say how far the start is, from 0 to 1. It never goes back. */
function reached(now = 0) {
  part = Math.max(part, now, expected && LOADED * Math.min(1, fetched / expected));
  if (!broken) postMessage({kind: "progress", stage, part});
}
function next(text, now) {
  stage = text;
  reached(now);
}

/** Say why the start ends here, once. */
function fail(message) {
  if (!broken) postMessage({kind: "failed", message: message.slice(0, 500)});
  broken = true;
}

/** Count the bytes of everything that is fetched. Pyodide waits for ever for a file that it cannot get, so that is said here. */
const plainFetch = globalThis.fetch.bind(globalThis);
globalThis.fetch = async (what, options) => {
  const response = await plainFetch(what, options);
  if (!response.ok) fail(`${new URL(response.url).pathname} cannot be read (status ${response.status})`);
  if (!response.body || !response.ok) return response;
  count(response.clone().body.getReader());  // the response itself stays the browser's own, whose compiled code it may keep
  return response;
};

async function count(reader) {
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    fetched += piece.value.byteLength;
    reached();
  }
}

async function start() {
  const archive = fetch("./tilery.zip").then(response => response.arrayBuffer());
  const manifest = await (await fetch("./manifest.json")).json();
  expected = Object.values(manifest.sizes).reduce((a, b) => a + b, 0);
  next("loading Python");
  const here = new URL("./pyodide/", import.meta.url).href;
  const pyodide = await loadPyodide({indexURL: here, packageBaseUrl: here});
  times.python = performance.now() - began;
  next("loading tilery");
  pyodide.unpackArchive(await archive, "zip", {extractDir: "/site"});
  if (manifest.numpy) {
    next("loading NumPy");
    await pyodide.loadPackage("numpy");
  }
  times.loaded = performance.now() - began;
  next("starting tilery", LOADED + 0.05);
  answer = pyodide.runPython(`
import json
import sys
sys.path.insert(0, "/site")
from importlib.util import find_spec
from tilery.explorer.protocol import Explorer

def runner():
    if find_spec("numpy") is None:
        return None
    from tilery.explorer.launching.job import perform
    return perform

explorer = Explorer(runner=runner())
lambda request: json.dumps(explorer.answer(json.loads(request)), allow_nan=False)
`);
  answer('{"do": "analyse", "text": "entry @k() { return }"}');
  times.ready = performance.now() - began;
  reached(1);
  postMessage({kind: "ready", times});
}

const started = start().catch(error => {
  fail(String(error && error.message || error));
  throw error;
});

onmessage = async ({data}) => {
  await started;
  let response;
  try {
    response = answer(data.request);
  } catch (error) {
    response = JSON.stringify({ok: false, error: {message: `the request failed: ${String(error.message || error).slice(-500)}`, notes: []}});
  }
  postMessage({id: data.id, response});
};
