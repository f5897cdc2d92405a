// Drive every request of `tilery dap` with the test client of VS Code, and print a JSON line for each.
// node dap_client.mjs MODULES PYTHON LAUNCHER FOLDER

import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const [modules, python, launcher, folder] = process.argv.slice(2);
const require = createRequire(path.join(modules, "x.js"));
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const kernel = path.join(folder, "loop.mlir");
fs.writeFileSync(
  kernel,
  `entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<4x8xf32>
  %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %x) -> (tile<4x8xf32>) {
    %q = addf %acc, %x : tile<4x8xf32>
    %pp = offset %p, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %iv = itof %i signed : tile<i32> -> tile<f32>
    %t = store_ptr_tko weak %pp, %iv : tile<ptr<f32>>, tile<f32> -> token
    continue %q : tile<4x8xf32>
  }
  return
}
`,
);

const report = (request, what, ok, seen) => console.log(JSON.stringify({ request, what, ok, seen: String(seen) }));
const dc = new DebugClient(python, launcher, "tilery", { cwd: folder });
dc.defaultTimeout = 60000;
await dc.start();

async function step(request, what, args, check) {
  try {
    const answer = await dc.send(request, args);
    const seen = check(answer.body);
    report(request, what, seen !== false, seen);
    return answer.body;
  } catch (error) {
    report(request, what, false, error.message);
  }
}

async function move(request, what, args, reason, line) {
  const stopped = dc.waitForEvent("stopped", 60000);
  try {
    await dc.send(request, args);
    const event = await stopped;
    const thread = event.body.threadId;
    const top = (await dc.stackTraceRequest({ threadId: thread })).body.stackFrames[0];
    const seen = `${event.body.reason} at line ${top.line}`;
    report(request, what, event.body.reason === reason && (line === undefined || top.line === line), seen);
    return { event: event.body, top };
  } catch (error) {
    report(request, what, false, error.message);
  }
}

const source = { path: kernel };
const initialized = dc.waitForEvent("initialized", 60000);
await step("initialize", "capabilities", { adapterID: "tilery" }, (b) => b.supportsStepBack && "supportsStepBack");
await initialized;
await step("launch", "a kernel with arguments", { program: kernel, grid: 4, arg: ["a=zeros:f32:4", "n=4"] }, () => "accepted");
await step("setBreakpoints", "a line and a condition", { source, breakpoints: [{ line: 7, condition: "%i == 1" }] }, (b) => b.breakpoints.length === 1 && "1 breakpoint");
await step("setFunctionBreakpoints", "an operation", { breakpoints: [] }, (b) => b.breakpoints.length === 0 && "none");
await step("setExceptionBreakpoints", "NaN and reports", { filters: ["nan", "report"] }, () => "accepted");
const first = await move("configurationDone", "runs to the breakpoint", {}, "breakpoint", 7);
await step("threads", "tile blocks", {}, (b) => b.threads.length === 4 && b.threads.map((t) => t.name).join(", "));
await step("stackTrace", "operation and line", { threadId: 1 }, (b) => b.stackFrames[0].name);
const scopes = await step("scopes", "values, arrays, launch", { frameId: first.top.id }, (b) => b.scopes.map((s) => s.name).join(", "));
const values = await step("variables", "tiles with statistics", { variablesReference: scopes.scopes[0].variablesReference }, (b) => b.variables.find((v) => v.name === "%acc").value);
const tile = values.variables.find((v) => v.name === "%acc").variablesReference;
await step("variables", "slices of a tile, by page", { variablesReference: tile, filter: "indexed", start: 1, count: 2 }, (b) => b.variables.map((v) => v.name).join(", "));
await step("evaluate", "an expression", { expression: "max(%acc[0, :4]) + 1", frameId: first.top.id, context: "watch" }, (b) => b.result === "3" && b.result);
await step("evaluate", "in another tile block", { expression: "%b", frameId: 300, context: "hover" }, (b) => b.result === "3" && b.result);
await move("next", "a line", { threadId: 1 }, "step", 8);
await move("stepIn", "an operation", { threadId: 1 }, "step", 9);
await move("stepBack", "a line back", { threadId: 1 }, "step", 8);
await move("stepBack", "an operation back", { threadId: 1, granularity: "instruction" }, "step", 7);
await step("dataBreakpointInfo", "an element of an array", { name: "a[2]" }, (b) => b.dataId);
await step("setDataBreakpoints", "writes to an element", { breakpoints: [{ dataId: "a[2]" }] }, (b) => b.breakpoints[0].verified && "verified");
await move("continue", "to a write", { threadId: 1 }, "data breakpoint");
await move("reverseContinue", "back to the breakpoint before", { threadId: 1 }, "breakpoint", 7);
await move("reverseContinue", "back to the write before", { threadId: 1 }, "data breakpoint", 6);
await step("setDataBreakpoints", "none", { breakpoints: [] }, () => "removed");
await step("setFunctionBreakpoints", "a value", { breakpoints: [{ name: "%iv", condition: "%i == 3" }] }, (b) => b.breakpoints[0].verified && "verified");
await step("setBreakpoints", "none", { source, breakpoints: [] }, () => "removed");
await move("continue", "to a value", { threadId: 1 }, "breakpoint", 9);
await step("breakpointLocations", "lines with operations", { source, line: 6, endLine: 9 }, (b) => b.breakpoints.map((p) => p.line).join(", "));
await step("loadedSources", "files", {}, (b) => b.sources.map((s) => s.name).join(", "));
await step("exceptionInfo", "why it stopped", { threadId: 1 }, (b) => b.exceptionId);
await move("stepOut", "out of the loop", { threadId: 1 }, "step", 13);
const ended = dc.waitForEvent("terminated", 60000);
await dc.send("continue", { threadId: 1 });
await ended;
report("continue", "to the end", true, "terminated");
await step("disconnect", "the adapter ends", {}, () => "accepted");

const second = new DebugClient(python, launcher, "tilery", { cwd: folder });
second.defaultTimeout = 60000;
await second.start();
const ready = second.waitForEvent("initialized", 60000);
await second.initializeRequest();
await ready;
await second.send("launch", { program: kernel, arg: ["a=zeros:f32:1", "n=2000000000"] });
const paused = second.waitForEvent("stopped", 60000);
await second.configurationDoneRequest();
await second.send("pause", { threadId: 1 });
report("pause", "a long loop", (await paused).body.reason === "pause", "pause");
await second.send("terminate", {});
report("terminate", "ends the program", true, "accepted");
process.exit(0);
