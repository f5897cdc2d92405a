// Ask the search of the built site, with its own scripts: node search.mjs HTML < questions.json > results.json
import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const folder = process.argv[2];
const ready = []; // what scripts do when the page is there
const nothing = { querySelectorAll: () => [], children: [], removeChild: () => {} };
const context = vm.createContext({
  console,
  URLSearchParams,
  localStorage: { setItem: () => {}, getItem: () => null },
  addEventListener: () => {},
  location: { search: "" },
  setTimeout: () => {},
  document: {
    addEventListener: (event, handler) => event === "DOMContentLoaded" && ready.push(handler),
    getElementById: () => nothing,
    documentElement: { dataset: { content_root: "./" } },
    currentScript: { dataset: {} },
    readyState: "loading",
  },
});
context.window = context; // scripts find what they add to the window as globals
const files = ["_static/documentation_options.js", "_static/base-stemmer.js", "_static/english-stemmer.js"];
files.push("_static/language_data.js", "_static/doctools.js", "_static/sphinx_highlight.js");
files.push("_static/searchtools.js", "searchindex.js");
const source = files.map((name) => readFileSync(join(folder, name), "utf-8")).join("\n;\n");
vm.runInContext(`${source}
globalThis.ask = (query) => {
  const [words, terms, excluded, highlighted, objects] = Search._parseQuery(query);
  const found = Search._performSearch(words, terms, excluded, highlighted, objects);
  return found.reverse().map((item) => item[0]);
};`, context);
ready[0](); // the ranking of the site; the others look for elements of a page
const questions = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(questions.map((query) => context.ask(query).slice(0, 10))));
