// The worker of the playground: loads Pyodide and tilery from this site, and answers requests one after the other.
import {loadPyodide} from "./pyodide/pyodide.mjs";

const began = performance.now();
const times = {};
let answer = null, done = 0, total = 1, stage = "";

const say = () => postMessage({kind: "progress", stage, done, total});
const next = text => {
  stage = text;
  say();
};

/** Count the bytes of what Pyodide fetches. */
const plainFetch = globalThis.fetch.bind(globalThis);
globalThis.fetch = async (...given) => {
  const response = await plainFetch(...given);
  if (!response.body || !response.ok) return response;
  count(response.clone().body.getReader());  // the response itself stays the browser's own, whose compiled code it may keep
  return response;
};

async function count(reader) {
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    done += part.value.byteLength;
    say();
  }
}

async function start() {
  const archive = fetch("./tilery.zip").then(response => response.arrayBuffer());
  const manifest = await (await plainFetch("./manifest.json")).json();
  total = Object.values(manifest.sizes).reduce((a, b) => a + b, 0) * 1.25;
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
  done = Math.max(done, total * 0.85);
  next("starting tilery");
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
  done = total;
  say();
  postMessage({kind: "ready", times});
}

const started = start().catch(error => {
  postMessage({kind: "failed", message: String(error && error.message || error).slice(0, 500)});
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
