// Drive the explorer in Chromium: every pane, links between panes, editing, runs, export, playground, hostile inputs.
// Usage: node browser.mjs CONFIG.json; writes the results as JSON to the file that the configuration names.
import fs from "node:fs";
import path from "node:path";
import {createRequire} from "node:module";
import zlib from "node:zlib";

const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const {chromium} = createRequire(path.join(config.modules, "x.js"))("playwright-core");
const results = {checks: [], numbers: {}, hostile: []};
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
let group = "";

async function check(name, work) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${group}: ${name}`.slice(0, 100));
  try {
    const detail = await work();
    results.checks.push({group, name, ok: true, detail: detail === undefined ? "" : String(detail)});
  } catch (error) {
    results.checks.push({group, name, ok: false, detail: String(error && error.message || error).slice(0, 400)});
  }
}
function must(condition, message) {
  if (!condition) throw new Error(message);
}

const browser = await chromium.launch({executablePath: config.chromium, args: ["--no-sandbox"]});
results.numbers.chromium = browser.version();

/** A page that notes what must not happen: errors, refused resources, requests to other hosts, dialogs. */
async function newPage({width = 1280, height = 800, scheme = "light", bare = false} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme: scheme, acceptDownloads: true});
  const page = await context.newPage();
  page.notes = [];
  page.asked = [];
  page.on("console", message => { if (["error", "warning"].includes(message.type())) page.notes.push(message.text()); });
  page.on("pageerror", error => page.notes.push(`uncaught: ${error.message}`));
  page.on("dialog", dialog => { page.notes.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", request => {
    const url = new URL(request.url());
    if (["data:", "blob:", "file:"].includes(url.protocol)) return;
    if (!["127.0.0.1", "localhost"].includes(url.hostname)) page.notes.push(`request to ${url.host}`);
    if (request.method() === "POST") page.asked.push(JSON.parse(request.postData() || "{}").do);
  });
  if (!bare) await page.addInitScript(() => { Object.defineProperty(navigator, "clipboard", {value: {writeText: async () => {}}}); });
  return page;
}
const ready = page => page.waitForSelector("html[data-ready]", {timeout: 60000});
const quiet = page => must(!page.notes.length, page.notes.join(" | "));

async function picture(page, name) {
  await wait(150);
  await page.screenshot({path: path.join(config.png, `${name}.png`)});
  const session = await page.context().newCDPSession(page);
  const {data} = await session.send("Page.captureScreenshot", {format: "webp", quality: 82});
  fs.writeFileSync(path.join(config.pictures, `${name}.webp`), Buffer.from(data, "base64"));
  await session.detach();
}

const show = (page, id) => page.evaluate(id => globalThis.tilery.show(id), id);
const select = (page, id) => page.evaluate(id => globalThis.tilery.select(id, "test"), id);
const choose = async (page, value) => {
  await page.evaluate(value => globalThis.tilery.choose(value), value);
  await page.waitForFunction(() => globalThis.tilery.state.analysis !== null || globalThis.tilery.state.text === "");
};
const opOf = (page, name, n = 0) => page.evaluate(([name, n]) => {
  const ops = globalThis.tilery.state.analysis.ops;
  return ops.name.map((k, id) => ops.names[k] === name ? id : -1).filter(id => id >= 0)[n];
}, [name, n]);
const selected = page => page.evaluate(() => globalThis.tilery.state.selected);
/** Whether the line of the selected operation is marked in an editor, and what it says. */
const marked = (page, pane) => page.evaluate(pane => {
  const host = document.querySelector(`#pane-${pane} .editor`);
  const line = host && host.shadowRoot.querySelector(".cm-op-selected");
  return line ? line.textContent : "";
}, pane);

// ---------------------------------------------------------------- panes and links

group = "panes";
const page = await newPage();
await check("the address with the token opens the page", async () => {
  await page.goto(config.local);
  await ready(page);
  must(!page.url().includes("token"), "the token stays in the address");
});
const files = config.files;
const fileOf = name => `file:${files.indexOf(name)}`;
await choose(page, fileOf("product.mlir"));

await check("Tile IR has colours and the whole text", async () => {
  const lines = await page.evaluate(() => globalThis.tilery.irView.state.doc.lines);
  must(lines > 20, `${lines} lines`);
  const colours = await page.evaluate(() => new Set([...document.querySelector("#pane-ir .editor").shadowRoot.querySelectorAll(".cm-line span")].map(s => getComputedStyle(s).color)).size);
  must(colours >= 4, `${colours} colours`);
});
for (const [id, test] of [
  ["bytes", () => document.querySelectorAll("#pane-bytes .row").length > 20],
  ["pipeline", () => document.querySelectorAll("#pane-pipeline .row").length > 5 && document.querySelector("#pane-pipeline .chip")],
  ["graph", () => document.querySelectorAll("#pane-graph .node").length > 15 && document.querySelector("#pane-graph .cluster")],
  ["run", () => document.querySelectorAll("#pane-run .args input").length === 3],
  ["remarks", () => document.querySelector("#pane-remarks button")],
  ["cost", () => document.querySelectorAll("#pane-cost tbody tr").length === 4 && document.querySelector("#pane-cost .point")],
]) {
  await check(`${id} shows its content`, async () => {
    await show(page, id);
    await page.waitForFunction(test, null, {timeout: 10000});
  });
}

group = "links";
const product = await opOf(page, "mmaf");
await check("a selected operation is marked in the text", async () => {
  await select(page, product);
  must((await marked(page, "ir")).includes("mmaf"), "no mark");
});
for (const [id, selector] of [["bytes", ".row.chosen"], ["graph", ".node.chosen"], ["cost", "tr.chosen"]]) {
  await check(`… and in ${id}`, async () => {
    await show(page, id);
    await page.waitForSelector(`#pane-${id} ${selector}`, {timeout: 5000});
    must((await page.textContent(`#pane-${id} ${selector}`)).includes("mmaf"), "another operation");
    await picture(page, `${id}`);
  });
}
await check("… and in the pipeline", async () => {
  await show(page, "pipeline");
  await select(page, await opOf(page, "constant", 1));
  await page.waitForSelector("#pane-pipeline .row.chosen", {timeout: 5000});
  must((await page.textContent("#pane-pipeline .row.chosen")).includes("constant"), "another operation");
  await picture(page, "pipeline");
});
for (const [id, selector, name] of [
  ["bytes", ".row:has-text('store_view_tko')", "store_view_tko"], ["graph", ".node:has-text('mmaf')", "mmaf"],
  ["cost", "tbody tr:has-text('load_view_tko') >> nth=1", "load_view_tko"], ["pipeline", ".row.removed:has-text('= constant') >> nth=0", "constant"],
]) {
  await check(`a click in ${id} selects the operation`, async () => {
    await show(page, id);
    await wait(300);
    if (id === "bytes") await page.evaluate(() => { const list = document.querySelector("#pane-bytes .list"); list.scrollTop = 1400; });
    await wait(200);
    await page.click(`#pane-${id} ${selector}`);
    const op = await selected(page);
    must(await page.evaluate(op => globalThis.tilery.opName(op), op) === name, `selected ${op}`);
    must((await marked(page, "ir")).includes(name), "the text does not follow");
  });
}
await check("the cursor in the text selects the operation", async () => {
  await page.evaluate(() => { const view = globalThis.tilery.irView; const at = view.state.doc.toString().indexOf("store_view_tko"); view.dispatch({selection: {anchor: at}}); });
  must(await selected(page) === await opOf(page, "store_view_tko"), "another operation");
});

group = "keyboard";
await check("Alt+digits show the panes", async () => {
  for (const [digit, id] of [[3, "bytes"], [4, "pipeline"], [5, "graph"], [6, "run"], [8, "cost"], [9, "prove"]]) {
    await page.keyboard.press(`Alt+${digit}`);
    must(await page.evaluate(() => globalThis.tilery.currentPane) === id, `Alt+${digit}`);
  }
});
await check("Alt+arrows go through the operations", async () => {
  await select(page, product);
  await page.keyboard.press("Alt+ArrowDown");
  must(await selected(page) === product + 1, "next");
  await page.keyboard.press("Alt+ArrowUp");
  must(await selected(page) === product, "previous");
});
await check("arrows move in lists and in the graph", async () => {
  await page.keyboard.press("Alt+3");
  await page.keyboard.press("Home");
  for (let i = 0; i < 16; i++) await page.keyboard.press("j");
  must(await selected(page) > 0, "the list");
  await page.keyboard.press("Alt+5");
  await select(page, product);
  await page.focus(".graph");
  await page.keyboard.press("ArrowUp");
  must(await page.evaluate(op => globalThis.tilery.opName(op), await selected(page)) !== "mmaf", "the graph");
});
await check("? shows the keys, and Esc leaves", async () => {
  await page.keyboard.press("?");
  must(await page.isVisible("dialog kbd"), "no help");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"), null, {timeout: 3000});
});
await check("every control can be reached and has a name", async () => {
  const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select")].filter(e =>
    e.offsetParent && !(e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label") || e.title)).map(e => e.outerHTML.slice(0, 80)));
  must(!nameless.length, nameless.join(" "));
});

// ---------------------------------------------------------------- editing

group = "editing";
await check("a mistake is marked in place, and goes away", async () => {
  await choose(page, fileOf("add.mlir"));
  await page.evaluate(() => { const view = globalThis.tilery.irView; const at = view.state.doc.toString().indexOf("addf") + 4; view.focus(); view.dispatch({selection: {anchor: at}}); });
  await page.keyboard.type("x");
  await page.waitForFunction(() => globalThis.tilery.state.analysis && !globalThis.tilery.state.analysis.legal, null, {timeout: 5000});
  await page.waitForFunction(() => document.querySelector("#pane-ir .editor").shadowRoot.querySelector(".cm-lintRange-error"));
  await show(page, "bytes");
  await page.waitForSelector("#pane-bytes .problem");
  await picture(page, "error");
  await page.evaluate(() => globalThis.tilery.irView.focus());
  await page.keyboard.press("Backspace");
  await page.waitForFunction(() => globalThis.tilery.state.analysis && globalThis.tilery.state.analysis.legal, null, {timeout: 5000});
  await page.waitForFunction(() => document.querySelectorAll("#pane-bytes .row").length > 20);
});
await check("an edit changes every pane", async () => {
  const before = await page.textContent("#pane-bytes .bar");
  await page.evaluate(() => { const view = globalThis.tilery.irView; const text = view.state.doc.toString(); const at = text.indexOf("  return"); view.dispatch({changes: {from: at, insert: "  %extra = iota : tile<32xi32>\n"}}); });
  await page.waitForFunction(before => document.querySelector("#pane-bytes .bar").textContent !== before && !document.querySelector("#pane-bytes .bar").textContent.includes("reading"), before, {timeout: 5000});
  await show(page, "pipeline");
  await page.waitForFunction(() => [...document.querySelectorAll("#pane-pipeline .row")].some(r => r.textContent.includes("%extra")), null, {timeout: 5000});
});
await check("hover describes an operation", async () => {
  const at = await page.evaluate(() => { const view = globalThis.tilery.irView; const pos = view.state.doc.toString().indexOf("get_tile_block_id") + 4; view.dispatch({effects: []}); view.scrollDOM.scrollTop = 0; return view.coordsAtPos(pos); });
  await page.mouse.move(at.left, (at.top + at.bottom) / 2);
  await page.waitForFunction(() => { const tip = document.querySelector("#pane-ir .editor").shadowRoot.querySelector(".cm-hover"); return tip && tip.textContent.includes("get_tile_block_id"); }, null, {timeout: 5000});
  await page.mouse.move(0, 0);
});
await check("completion offers values of the right type", async () => {
  await page.evaluate(() => { const view = globalThis.tilery.irView; const at = view.state.doc.toString().indexOf("addf %left") + 5; view.focus(); view.dispatch({changes: {from: at, to: at + 5, insert: ""}, selection: {anchor: at}}); });
  await page.keyboard.type("%r");
  await page.waitForFunction(() => { const list = document.querySelector("#pane-ir .editor").shadowRoot.querySelector(".cm-tooltip-autocomplete"); return list && list.textContent.includes("%right"); }, null, {timeout: 5000});
  await wait(300);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => globalThis.tilery.irView.state.doc.toString().includes("addf %right, %right"), null, {timeout: 3000});
});

// ---------------------------------------------------------------- runs

group = "runs";
await check("nothing ran so far", async () => must(!page.asked.some(what => ["run", "values", "compile", "remarks"].includes(what)), page.asked.join(" ")));
await check("a run shows results", async () => {
  await choose(page, fileOf("product.mlir"));
  await show(page, "run");
  await page.waitForSelector("#pane-run .args input");
  await picture(page, "arguments");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#pane-run .verdict", {timeout: 60000});
  must((await page.textContent("#pane-run .verdict")).includes("no check found a fault"), await page.textContent("#pane-run .verdict"));
  must(await page.locator("#pane-run .panel .tile-block").count() === 3, "arrays");
  await picture(page, "results");
});
await check("the access map shows who accesses what", async () => {
  await page.click("#pane-run [data-tab=access]");
  await page.waitForSelector("#pane-run canvas.map");
  const colours = await page.evaluate(() => [...document.querySelectorAll("canvas.map")].map(c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; const s = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3]) s.add(`${d[i]},${d[i + 1]},${d[i + 2]}`); return s.size; }));
  must(colours.length === 3 && colours[2] >= 16, colours.join(" "));
  const block = page.getByLabel("Tile block", {exact: true});
  must(await block.inputValue() === "" && await block.getAttribute("placeholder") === "all", "all tile blocks are not chosen");
  const shown = () => page.evaluate(() => document.querySelectorAll("canvas.map")[2].toDataURL());
  const choice = async text => { await page.getByLabel("Tile block", {exact: true}).fill(text); await page.getByLabel("Tile block", {exact: true}).dispatchEvent("change"); };
  const all = await shown();
  await choice("0");
  must(await shown() !== all, "one tile block shows as much as all");
  await choice("");
  must(await shown() === all, "all tile blocks are not shown again");
  await picture(page, "access");
  await select(page, await opOf(page, "store_view_tko"));
  await wait(200);
  const painted = await page.evaluate(() => [...document.querySelectorAll("canvas.map")].map(c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v)));
  must(!painted[0] && !painted[1] && painted[2], `only the array that is stored: ${painted}`);
});
await check("the values of a tile at any operation and iteration", async () => {
  await page.click("#pane-run [data-tab=values]");
  await select(page, product);
  await page.waitForSelector("#pane-run .values .tile-block", {timeout: 30000});
  must((await page.textContent("#pane-run .values")).includes("4 times"), "times");
  const first = await page.textContent("#pane-run .values .cell");
  await page.evaluate(() => { const slider = document.querySelector("#pane-run .values input[type=range]"); slider.value = "3"; slider.dispatchEvent(new Event("change")); });
  await page.waitForFunction(first => document.querySelector("#pane-run .values .cell").textContent !== first, first, {timeout: 30000});
  await picture(page, "values");
});
await check("a faulty kernel: reports at their lines", async () => {
  await choose(page, fileOf("faulty.mlir"));
  await show(page, "run");
  await page.waitForFunction(() => document.querySelectorAll("#pane-run .args input").length === 2);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#pane-run .verdict.bad", {timeout: 60000});
  const said = await page.textContent("#pane-run .panel:not([hidden])");
  must(said.includes("bounds") && said.includes("race"), said.slice(0, 200));
  await page.click("#pane-run .report:has-text('race') .link");
  must((await marked(page, "ir")).includes("%flag"), await marked(page, "ir"));
  must(await page.evaluate(() => document.querySelector("#pane-ir .editor").shadowRoot.querySelectorAll(".cm-lint-marker-error").length) >= 2, "no marks beside the lines");
  await picture(page, "faulty");
});
await check("the timeline shows tokens", async () => {
  await choose(page, fileOf("sum.mlir"));
  await show(page, "run");
  await page.waitForFunction(() => document.querySelectorAll("#pane-run .args input").length === 4);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#pane-run .verdict", {timeout: 60000});
  await page.click("#pane-run [data-tab=timeline]");
  await page.waitForSelector("#pane-run .event");
  must(await page.locator("#pane-run .token-line").count() > 4, "tokens");
  await page.click("#pane-run .event.update >> nth=0");
  must(await page.evaluate(op => globalThis.tilery.opName(op), await selected(page)) === "atomic_rmw_tko", "a click selects");
  await picture(page, "timeline");
});
await check("a run that never ends can be stopped", async () => {
  await page.evaluate(() => globalThis.tilery.setDocument("entry @k(%p: tile<ptr<i32>>) {\n  %one = constant <i32: 1> : tile<i32>\n  loop {\n    %old, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token\n    continue\n  }\n  return\n}\n", {name: "endless"}));
  await show(page, "run");
  await page.waitForFunction(() => document.querySelectorAll("#pane-run .args input").length === 1);
  await page.keyboard.press("Control+Enter");
  await wait(2500);
  await page.click("#pane-run button:has-text('Stop')");
  await page.waitForFunction(() => document.querySelector("#pane-run > .column > .message").textContent.includes("stopped"), null, {timeout: 20000});
});
await check("the console stayed silent", async () => quiet(page));

group = "proofs";
await check("a kernel and its copy are equal", async () => {
  await choose(page, "example:product");
  await show(page, "run");
  await page.waitForFunction(() => document.querySelectorAll("#pane-run .args input").length >= 3);
  await show(page, "prove");
  must(!page.asked.includes("prove"), "it proved without being asked");
  await page.selectOption("#pane-prove select[aria-label='The other kernel']", "copy:");
  await page.click("#pane-prove button:has-text('Prove')");
  await page.waitForFunction(() => document.querySelector("#pane-prove .verdict"), null, {timeout: 60000});
  const said = await page.textContent("#pane-prove .proof");
  must(said.includes("equal") && said.includes("Over the real numbers"), said);
});
await check("an edit of the one is told from the other, with a witness", async () => {
  await page.evaluate(() => {
    const view = globalThis.tilery.irView, text = view.state.doc.toString(), at = text.indexOf("<f32: 0.0>");
    view.dispatch({changes: {from: at, to: at + 10, insert: "<f32: 1.0>"}});
  });
  must(!await page.locator("#pane-prove .verdict").count(), "the verdict is about another text");
  await page.waitForFunction(() => globalThis.tilery.state.analysis && globalThis.tilery.state.analysis.legal, null, {timeout: 20000});
  await page.click("#pane-prove button:has-text('Prove')");
  await page.waitForFunction(() => document.querySelector("#pane-prove .verdict.bad"), null, {timeout: 60000});
  must((await page.textContent("#pane-prove .proof")).includes("witness"), "no witness");
  await picture(page, "prove");
});
await check("the console stayed silent while proving", async () => quiet(page));

group = "sources";
const source = await newPage();
await check("a cuTile file opens without running", async () => {
  await source.goto(config.sources);
  await ready(source);
  await source.waitForSelector("#pane-source .editor");
  must(!source.asked.includes("compile"), "it was compiled");
});
await check("Compile shows Tile IR, and lines are linked both ways", async () => {
  await source.click("#pane-source button:has-text('Compile')");
  await source.waitForFunction(() => globalThis.tilery.state.text.includes("entry @axpy"), null, {timeout: 90000});
  await source.waitForFunction(() => globalThis.tilery.state.analysis !== null);
  const product = await opOf(source, "fma");
  await select(source, product);
  must((await marked(source, "source")).includes("a * left"), await marked(source, "source"));
  await source.evaluate(() => { const host = document.querySelector("#pane-source .editor").shadowRoot.querySelectorAll(".cm-line"); [...host].find(l => l.textContent.includes("ct.store")).click(); });
  const line = await source.evaluate(() => { const lines = [...document.querySelector("#pane-source .editor").shadowRoot.querySelectorAll(".cm-line")]; const at = lines.find(l => l.textContent.includes("ct.store")).getBoundingClientRect(); return {x: at.left + 60, y: at.top + at.height / 2}; });
  await source.mouse.click(line.x, line.y);
  must((await source.evaluate(() => [...globalThis.tilery.state.related].map(globalThis.tilery.opName))).includes("store_view_tko"), "the line has no store");
  must((await source.textContent(".status")).endsWith("operations, legal"), await source.textContent(".status"));
  must(await source.locator(".main-tabs [aria-selected=true]:visible").count() === 1, "no tab is marked while the source has the focus");
  await picture(source, "cutile");
});
await check("the compiled kernel runs with the arguments of its signature", async () => {
  await show(source, "run");
  await source.waitForFunction(() => document.querySelectorAll("#pane-run .args input").length === 3);
  await source.keyboard.press("Control+Enter");
  await source.waitForSelector("#pane-run .verdict", {timeout: 60000});
  must((await source.textContent("#pane-run .verdict")).includes("no check found"), await source.textContent("#pane-run .verdict"));
});
await check("an error of cuTile is shown", async () => {
  await source.evaluate(() => { globalThis.tilery.state.sources[0].text = globalThis.tilery.state.sources[0].text.replace("ct.store(y", "ct.stor(y"); });
  await source.click("#pane-source button:has-text('Compile')");
  await source.waitForSelector("#pane-source .problem", {timeout: 90000});
});
if (config.cpp) {
  await check("C++ compiles, and lines are linked", async () => {
    await source.evaluate(value => globalThis.tilery.choose(value), "file:1");
    await source.waitForFunction(() => globalThis.tilery.state.sources.length && globalThis.tilery.state.sources[0].language === "cpp");
    await source.click("#pane-source button:has-text('Compile')");
    await source.waitForFunction(() => globalThis.tilery.state.text.includes("entry"), null, {timeout: 120000});
    await source.waitForFunction(() => globalThis.tilery.state.analysis !== null);
    const linked = await source.evaluate(() => { const found = globalThis.tilery.state.analysis; return found.ops.place.filter(p => p >= 0).length; });
    must(linked > 5, `${linked} operations with lines`);
    await source.waitForFunction(() => [...document.querySelector("#pane-ir .editor").shadowRoot.querySelectorAll(".cm-line")].some(l => l.textContent.includes("entry @") && l.getBoundingClientRect().top < innerHeight), null, {timeout: 5000});
    await picture(source, "cpp");
  });
}
if (config.remarks) {
  await check("remarks of tileiras are at their operations", async () => {
    await choose(source, "example:product");
    await show(source, "remarks");
    await source.click("#pane-remarks button");
    await source.waitForSelector("#pane-remarks .said", {timeout: 120000});
    await source.click("#pane-remarks .said .link >> nth=0");
    must(await selected(source) > 0, "nothing selected");
    await picture(source, "remarks");
  });
}
await check("the console stayed silent", async () => quiet(source));
await source.context().close();

// ---------------------------------------------------------------- sharing and export

group = "share";
let fragment = "";
await check("the fragment has the state", async () => {
  await choose(page, fileOf("faulty.mlir"));
  await page.click("header button:has-text('Share')");
  await page.waitForFunction(() => location.hash.startsWith("#v1="));
  fragment = await page.evaluate(() => location.hash);
  return `${fragment.length} characters`;
});
await check("the link shows the same text, says where it is from, and runs nothing", async () => {
  const other = await newPage();
  await other.goto(config.share);
  await ready(other);
  await other.goto(`${new URL(config.share).origin}/${fragment}`);
  await other.waitForFunction(() => globalThis.tilery.state.text.includes("@faulty"), null, {timeout: 20000});
  await other.reload();
  await ready(other);
  must(await other.evaluate(() => globalThis.tilery.state.text.includes("@faulty")), "another text after reloading");
  must(await other.isVisible(".banner"), "no banner");
  await show(other, "run");
  await wait(1000);
  must(!other.asked.some(what => ["run", "values", "compile"].includes(what)), other.asked.join(" "));
  quiet(other);
  await other.context().close();
});

group = "export";
let exported = "";
await check("Export writes one file", async () => {
  await show(page, "run");
  await page.waitForFunction(() => document.querySelectorAll("#pane-run .args input").length === 2);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#pane-run .verdict.bad", {timeout: 60000});
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("header button:has-text('Export')")]);
  exported = path.join(config.work, "exported.html");
  await download.saveAs(exported);
  return `${fs.statSync(exported).size.toLocaleString("en")} bytes`;
});
await check("the file works without a network, with every pane and the run", async () => {
  const other = await newPage();
  await other.context().setOffline(true);
  await other.goto(`file://${exported}`);
  await ready(other);
  const op = await opOf(other, "sqrt");
  await select(other, op);
  for (const [id, selector] of [["bytes", ".row.chosen"], ["graph", ".node.chosen"], ["cost", "tr.chosen"]]) {
    await show(other, id);
    await other.waitForSelector(`#pane-${id} ${selector}`, {timeout: 5000});
  }
  await show(other, "pipeline");
  await other.waitForSelector("#pane-pipeline .steps li");
  await show(other, "run");
  await other.click("#pane-run [data-tab=reports]");
  must((await other.textContent("#pane-run .panel:not([hidden])")).includes("race"), "no report");
  await picture(other, "exported");
  quiet(other);
  await other.context().close();
});

// ---------------------------------------------------------------- looks

group = "looks";
for (const [name, options] of [["dark", {scheme: "dark"}], ["narrow", {width: 390, height: 780}], ["narrow-dark", {width: 390, height: 780, scheme: "dark"}]]) {
  await check(name, async () => {
    const other = await newPage(options);
    await other.goto(config.looks[name]);
    await ready(other);
    await choose(other, "example:product");
    for (const id of ["ir", "bytes", "pipeline", "graph", "run", "remarks", "cost", "prove"]) {
      await show(other, id);
      await wait(400);
      const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      must(wide <= 0, `${id} is ${wide} pixels too wide`);
      must(await other.isVisible(`#pane-${id}`), `${id} is not visible`);
    }
    await select(other, await opOf(other, "mmaf"));
    if (name === "dark") {
      await show(other, "graph");
      await wait(500);
      await picture(other, "dark");
    } else {
      await show(other, "ir");
      await picture(other, `${name}-text`);
      await show(other, "run");
      await other.click("header button:has-text('Run')");
      await other.waitForSelector("#pane-run .verdict", {timeout: 60000});
      await other.click("#pane-run [data-tab=access]");
      await wait(300);
      await picture(other, `${name}-access`);
      await show(other, "pipeline");
      await wait(300);
      await picture(other, `${name}-pipeline`);
      const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      must(wide <= 0, `${wide} pixels too wide after a run`);
    }
    quiet(other);
    await other.context().close();
  });
}
await check("the button changes between dark and light", async () => {
  const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.click("header button[aria-label='Dark or light']");
  must(await page.evaluate(() => getComputedStyle(document.body).backgroundColor) !== before, "nothing changed");
  await page.click("header button[aria-label='Dark or light']");
});
await check("text has enough contrast in both themes", async () => {
  const bad = await page.evaluate(() => {
    const lum = rgb => { const c = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
    const parse = text => { const probe = document.createElement("canvas").getContext("2d"); probe.fillStyle = text; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const out = [];
    for (const theme of ["light", "dark"]) {
      document.documentElement.dataset.theme = theme;
      const style = getComputedStyle(document.documentElement);
      for (const [front, backs] of [["--text", ["--surface", "--raised", "--back", "--chosen", "--near", "--added", "--removed"]], ["--faint", ["--surface", "--raised"]], ["--bad", ["--bad-back"]], ["--good", ["--good-back"]],
        ...["--comment", "--string", "--value", "--symbol", "--operation", "--number", "--type", "--word"].map(v => [v, ["--surface", "--chosen", "--near"]])]) {
        for (const back of backs) {
          const a = lum(parse(style.getPropertyValue(front))), b = lum(parse(style.getPropertyValue(back)));
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < 4.5) out.push(`${theme} ${front} on ${back} ${ratio.toFixed(2)}`);
        }
      }
    }
    delete document.documentElement.dataset.theme;
    return out;
  });
  must(!bad.length, bad.join(", "));
});

// ---------------------------------------------------------------- 20,000 operations

group = "20,000 operations";
const big = await newPage();
await check("the first paint", async () => {
  const times = [];
  const whole = await browser.newBrowserCDPSession();
  const spent = async () => (await whole.send("SystemInfo.getProcessInfo")).processInfo.reduce((sum, each) => sum + each.cpuTime, 0);
  for (const url of config.big) {
    const fresh = await newPage();
    const session = await fresh.context().newCDPSession(fresh);
    await session.send("Performance.enable", {timeDomain: "threadTicks"});
    const before = await spent();
    await fresh.goto(url, {waitUntil: "commit"});
    await fresh.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length, null, {timeout: 30000});
    const paint = await fresh.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    await fresh.waitForFunction(() => globalThis.tilery && globalThis.tilery.irView && globalThis.tilery.irView.state.doc.lines > 1000, null, {timeout: 30000, polling: 20});
    const text = await fresh.evaluate(() => performance.now());
    const all = 1000 * (await spent() - before);
    const {metrics} = await session.send("Performance.getMetrics");
    const processor = 1000 * metrics.find(m => m.name === "TaskDuration").value;
    await fresh.waitForFunction(() => globalThis.tilery.state.analysis !== null, null, {timeout: 60000, polling: 20});
    const analysed = await fresh.evaluate(() => performance.now());
    times.push({paint, text, analysed, processor, all});
    await fresh.context().close();
  }
  results.numbers.big = times;
  const worst = Math.max(...times.map(t => t.text));
  must(Math.max(...times.map(t => t.paint)) < 1500, `paint ${times.map(t => Math.round(t.paint)).join(", ")} ms`);
  return `paint ${times.map(t => Math.round(t.paint)).join(", ")} ms; the text is there after ${Math.round(worst)} ms at most`;
});
await check("scrolling keeps few rows, and frames stay short", async () => {
  await big.goto(config.bigScroll);
  await ready(big);
  await show(big, "bytes");
  await big.waitForFunction(() => document.querySelectorAll("#pane-bytes .row").length > 20, null, {timeout: 60000});
  const measured = {};
  for (const [name, where] of [["bytes", "#pane-bytes .list"], ["text", "ir"]]) {
    measured[name] = await big.evaluate(async ([name, where]) => {
      const element = where === "ir" ? globalThis.tilery.irView.scrollDOM : document.querySelector(where);
      const frames = [];
      let most = 0, last = performance.now();
      for (let i = 0; i < 120; i++) {
        element.scrollTop += 700;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - last);
        last = now;
        most = Math.max(most, where === "ir" ? document.querySelector("#pane-ir .editor").shadowRoot.querySelectorAll(".cm-line").length : element.querySelectorAll(".row").length);
      }
      frames.sort((a, b) => a - b);
      return {rows: most, median: frames[60], p95: frames[113], worst: frames[119], scrolled: element.scrollTop};
    }, [name, where]);
    must(measured[name].rows < 200, `${name}: ${measured[name].rows} rows`);
    must(measured[name].median < 50, `${name}: half of the frames take more than ${measured[name].median.toFixed(0)} ms`);
  }
  results.numbers.scroll = measured;
  return Object.entries(measured).map(([name, m]) => `${name}: at most ${m.rows} rows, frames ${m.median.toFixed(0)} ms (median), ${m.p95.toFixed(0)} ms (95%)`).join("; ");
});
await check("links work far down", async () => {
  await select(big, 15000);
  await big.waitForSelector("#pane-bytes .row.chosen", {timeout: 5000});
  must((await marked(big, "ir")).includes("%v14"), await marked(big, "ir"));
  await show(big, "graph");
  await big.waitForSelector("#pane-graph .node.chosen", {timeout: 20000});
  must((await big.textContent("#pane-graph .bar")).includes("300 of"), "the graph is cut");
  quiet(big);
});
await big.context().close();

// ---------------------------------------------------------------- the playground

group = "playground";
/** Note every state of the progress bar as it is shown, whatever the speed: its part, its text, and whether the page works. */
const watchBar = page => page.addInitScript(() => {
  globalThis.barStates = [];
  const shown = () => {
    const bar = document.querySelector("dialog[open] progress");
    const state = bar ? {part: bar.value / bar.max, stage: bar.nextElementSibling.textContent} : null;
    const last = globalThis.barStates.at(-1);
    const same = last === undefined ? state === null : last && state ? last.part === state.part && last.stage === state.stage : last === state;
    if (!same) globalThis.barStates.push(state && {...state, ready: document.documentElement.dataset.ready !== undefined});
  };
  new MutationObserver(shown).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
});
const STAGES = ["loading Python", "loading tilery", "starting tilery"];
/** Whether the bar did what a user needs: it is there from the first stage to the last, moves forward, and goes away. */
async function rightBar(page) {
  const states = await page.evaluate(() => globalThis.barStates);
  const bars = states.slice(0, -1);
  must(states.at(-1) === null && bars.length && !bars.includes(null), "the bar did not stay until the end and go away then");
  must(bars.every(each => !each.ready), "the bar was there when the page was ready");
  const stages = [...new Set(bars.map(each => each.stage))];
  must(stages.filter(stage => stage !== "starting").join() === STAGES.join(), `stages: ${stages.join(", ")}`);
  must(bars.every((each, i) => !i || each.part >= bars[i - 1].part), `it went back: ${bars.map(each => each.part.toFixed(2)).join(" ")}`);
  must(bars[0].part < 0.8 && bars.at(-1).part === 1, `it went from ${bars[0].part} to ${bars.at(-1).part}`);
  return bars;
}
const play = await newPage();
await check("it starts from static files, with a progress bar from the first stage to the last", async () => {
  const began = Date.now();
  await watchBar(play);
  await play.goto(config.playground, {waitUntil: "commit"});
  await play.waitForSelector("html[data-ready]", {timeout: 180000});
  results.numbers.cold = {...JSON.parse(await play.evaluate(() => document.documentElement.dataset.cold)), page: Date.now() - began};
  return `${(await rightBar(play)).length} states of the bar`;
});
await check("the bar follows the bytes of a slow connection", async () => {
  const slow = await newPage();
  await watchBar(slow);
  await slow.goto(config.slow, {waitUntil: "commit"});
  await slow.waitForFunction(() => globalThis.barStates.some(each => each && each.part > 0.4), null, {timeout: 60000, polling: 50});
  await picture(slow, "starting");
  await slow.waitForSelector("html[data-ready]", {timeout: 180000});
  const loading = (await rightBar(slow)).filter(each => each.stage === STAGES[0]);
  const steps = loading.map((each, i) => each.part - (i ? loading[i - 1].part : 0));
  must(Math.max(...steps) < 0.25, `a step of ${Math.max(...steps).toFixed(2)}`);
  quiet(slow);
  await slow.context().close();
  return `${loading.length} states while Python loads, the largest step ${Math.max(...steps).toFixed(2)}`;
});
for (const missing of ["pyodide/pyodide.mjs", "pyodide/pyodide.asm.wasm", "tilery.zip", "manifest.json"]) {
  await check(`it says that it cannot start without ${missing}`, async () => {
    const broken = await newPage();
    await broken.route(`**/${missing}`, route => route.fulfill({status: 404, body: "not found"}));
    await broken.goto(config.playground, {waitUntil: "commit"});
    await broken.waitForFunction(() => document.querySelector("dialog[open] p")?.textContent.includes("it cannot start"), null, {timeout: 20000});
    await wait(300);
    const text = await broken.textContent("dialog[open] p");
    must(text.includes("it cannot start") && !text.includes("Traceback"), text);
    await broken.context().close();
    return text;
  });
}
await check("every pane but runs works there", async () => {
  await choose(play, "example:product");
  const op = await opOf(play, "mmaf");
  await select(play, op);
  for (const [id, selector] of [["bytes", ".row.chosen"], ["graph", ".node.chosen"], ["cost", "tr.chosen"], ["pipeline", ".steps li"]]) {
    await show(play, id);
    await play.waitForSelector(`#pane-${id} ${selector}`, {timeout: 30000});
  }
  await picture(play, "playground");
});
await check("it says that kernels cannot run without NumPy", async () => {
  await show(play, "run");
  await play.waitForFunction(() => document.querySelector("#pane-run").textContent.includes("running needs NumPy"), null, {timeout: 20000});
});
await check("editing works: a mistake, and its correction", async () => {
  await play.evaluate(() => { const view = globalThis.tilery.irView; const at = view.state.doc.toString().indexOf("mmaf") + 4; view.focus(); view.dispatch({selection: {anchor: at}}); });
  await play.keyboard.type("x");
  await play.waitForFunction(() => globalThis.tilery.state.analysis && !globalThis.tilery.state.analysis.legal, null, {timeout: 90000});
  await play.keyboard.press("Backspace");
  await play.waitForFunction(() => globalThis.tilery.state.analysis && globalThis.tilery.state.analysis.legal, null, {timeout: 90000});
});
await check("a link opens there", async () => {
  const other = await newPage();
  await other.goto(`${config.playground}${fragment}`);
  await ready(other);
  must(await other.evaluate(() => globalThis.tilery.state.text.includes("@faulty")), "another text");
  must(await other.isVisible(".banner"), "no banner");
  quiet(other);
  await other.context().close();
});
await check("its export is the same kind of file", async () => {
  await choose(play, "example:add");
  const [download] = await Promise.all([play.waitForEvent("download", {timeout: 60000}), play.click("header button:has-text('Export')")]);
  const file = path.join(config.work, "playground.html");
  await download.saveAs(file);
  must(fs.statSync(file).size > 500000, "too small");
});
await check("it asked no other host, and the console stayed silent", async () => quiet(play));
await play.context().close();

// ---------------------------------------------------------------- hostile inputs

group = "hostile";
const deflate = text => `#v1=${zlib.deflateRawSync(Buffer.from(text)).toString("base64url")}`;
async function unharmed(other) {
  await wait(80);
  const found = await other.evaluate(() => ({
    pwned: globalThis.pwned, polluted: ({}).polluted,
    elements: [...document.querySelectorAll("script:not([src]), iframe, img, object, embed, link[rel=import], base, form[action]")].filter(e => !(e.type === "application/json") && !globalThis.tilery.state.exported).map(e => e.outerHTML.slice(0, 80)),
    handlers: [...document.querySelectorAll("*")].flatMap(e => [...e.attributes].filter(a => /^on/i.test(a.name) || (/^(href|src|action|formaction|xlink:href|data)$/i.test(a.name) && /^\s*javascript:/i.test(a.value))).map(a => a.name)),
  }));
  must(found.pwned === undefined, "a script ran");
  must(found.polluted === undefined, "a prototype was changed");
  must(!found.elements.length, `elements: ${found.elements}`);
  must(!found.handlers.length, `handlers: ${found.handlers}`);
  must(!other.notes.length, other.notes.join(" | "));
}
const victim = await newPage();
await victim.goto(config.hostile);
await ready(victim);
for (const each of config.cases.documents) {
  await check(each.name, async () => {
    victim.notes.length = 0;
    await victim.evaluate(text => globalThis.tilery.setDocument(text, {name: text.slice(0, 300), sources: [{name: text.slice(0, 100), language: "cutile", text, kernels: []}]}), each.text);
    for (const id of ["bytes", "pipeline", "graph", "run", "prove", "cost"]) { await show(victim, id); await wait(60); }
    await select(victim, 1);
    await select(victim, 2);
    await unharmed(victim);
    if (each.name.startsWith("symbol: image")) await picture(victim, "hostile");
  });
}
for (const each of config.cases.links) {
  await check(`link: ${each.name}`, async () => {
    const hash = each.fragment === "BOMB" ? deflate(JSON.stringify({text: "x".repeat(200 << 20)})) : each.fragment.startsWith("DEFLATE:") ? deflate(each.fragment.slice(8)) : each.fragment;
    victim.notes.length = 0;
    victim.asked.length = 0;
    await victim.goto("about:blank");
    await victim.goto(`${new URL(config.hostile).origin}/${hash}`);
    await ready(victim);
    await unharmed(victim);
    must(!victim.asked.some(what => ["run", "values", "compile", "remarks"].includes(what)), victim.asked.join(" "));
  });
}
await check("an exported file with hostile names", async () => {
  for (const file of config.hostileExports) {
    const other = await newPage();
    await other.goto(`file://${file}`);
    await ready(other);
    for (const id of ["bytes", "pipeline", "graph", "run", "prove", "cost"]) { await show(other, id); await wait(50); }
    await unharmed(other);
    await other.context().close();
  }
  return `${config.hostileExports.length} files`;
});
await check("another site cannot use the server", async () => {
  const other = await newPage();
  await other.goto(config.attacker);
  const origin = new URL(config.hostile).origin;
  const found = await other.evaluate(async origin => {
    const out = [];
    for (const [name, options] of [["plain", {}], ["post", {method: "POST", body: "{\"do\":\"hello\"}", headers: {"Content-Type": "text/plain"}}],
      ["json", {method: "POST", body: "{\"do\":\"hello\"}", headers: {"Content-Type": "application/json"}}], ["blind", {mode: "no-cors", method: "POST", body: "{\"do\":\"hello\"}"}]]) {
      try { const r = await fetch(`${origin}/api`, {credentials: "include", ...options}); out.push(`${name} ${r.status} ${r.type} ${(await r.text()).length}`); } catch { out.push(`${name} refused`); }
    }
    const frame = document.createElement("iframe");
    frame.src = origin;
    document.body.append(frame);
    await new Promise(resolve => setTimeout(resolve, 500));
    let inside = "nothing";
    try { inside = frame.contentDocument ? frame.contentDocument.body.textContent.slice(0, 20) : "nothing"; } catch { inside = "nothing"; }
    return {out, inside};
  }, origin);
  must(found.out.every(text => text.includes("refused") || text.includes("opaque 0")), found.out.join(", "));
  must(found.inside === "nothing" || found.inside === "", found.inside);
  await other.context().close();
  return found.out.join(", ");
});
await victim.context().close();

await browser.close();
fs.writeFileSync(config.results, JSON.stringify(results, null, 1));
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
