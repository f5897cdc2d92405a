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
    querySelector: () => null,
    querySelectorAll: () => [],
    getElementById: () => nothing,
    documentElement: { dataset: { content_root: "./" } },
    currentScript: { dataset: {} },
    readyState: "loading",
  },
});
context.window = context; // scripts find what they add to the window as globals
const page = readFileSync(join(folder, "search.html"), "utf-8");
const loaded = [...page.matchAll(/<script[^>]* src="([^"?]+)/g)].map((match) => match[1]);
const files = loaded.filter((name) => !name.includes("/scripts/")); // in the order of the page, without the theme's
const source = files.map((name) => readFileSync(join(folder, name), "utf-8")).join("\n;\n");
vm.runInContext(`${source}
globalThis.ask = (query) => {
  const [words, terms, excluded, highlighted, objects] = Search._parseQuery(query);
  const found = Search._performSearch(words, terms, excluded, highlighted, objects);
  return found.reverse().map((item) => item[0]);
};`, context);
ready.forEach((handler) => handler());
const questions = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(questions.map((query) => context.ask(query).slice(0, 10))));
