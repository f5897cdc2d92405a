// The pane of runs: arguments by form, results, reports, accesses, values and tokens.
"use strict";
(() => {
  const T = globalThis.tilery;
  let form, results, reports, tabs, message, runButton, kernel, forms = [], fields = {}, args = [];

  function build() {
    form = T.h("form", {class: "form", onsubmit: event => { event.preventDefault(); T.run(); }});
    results = T.h("div", {class: "panel"});
    reports = T.h("div", {class: "panel"});
    message = T.h("div", {class: "message"});
    const access = T.accessPanel(), values = T.valuesPanel(), timeline = T.timelinePanel();
    tabs = T.tabs("Run", [["arguments", "Arguments", form], ["results", "Results", results], ["reports", "Reports", reports],
      ["access", "Access map", access], ["values", "Values", values], ["timeline", "Timeline", timeline]],
    id => { if (id === "access") T.showAccess(); if (id === "values") T.showValues(); if (id === "timeline") T.showTimeline(); });
    tabs.bar.classList.add("sub");
    T.showRunTab = id => tabs.show(id);
    return T.h("div", {class: "column run"}, tabs.bar, message, form, results, reports, access, values, timeline);
  }

  async function show() {
    const version = T.state.version;
    const found = await T.ask("form", T.document());
    if (version !== T.state.version) return;
    if (!found.ok) { T.replace(form, T.problem(found.error)); forms = []; return; }
    forms = found.kernels;
    makeForm();
  }

  function field(name, label, element) {
    fields[name] = element;
    return T.h("label", {class: "field"}, T.h("span", {}, label), element);
  }

  function makeForm() {
    const hello = T.state.hello;
    if (!forms.length) { T.replace(form, T.h("p", {class: "hint"}, "There is no kernel.")); return; }
    if (!hello) return;
    const before = kernel && kernel.value;
    kernel = T.h("select", {"aria-label": "Kernel", onchange: makeForm}, ...forms.map(f => T.h("option", {value: f.entry}, f.entry)));
    if (forms.some(f => f.entry === before)) kernel.value = before;
    const chosen = forms.find(f => f.entry === kernel.value);
    const launch = T.state.launch;
    const params = launch ? launch.params : chosen.params;
    const saved = T.state.savedRun;
    const old = new Map(args.map(a => [a.name, a.input.value]));
    args = params.map((param, i) => {
      const value = saved && saved.args && saved.args[i] !== undefined ? saved.args[i] : old.has(param.name) && old.get(param.name) ? old.get(param.name) : param.spec;
      return {name: param.name, type: param.type, input: T.h("input", {type: "text", value, "aria-label": `Argument ${param.name}`, spellcheck: "false", list: "specs"})};
    });
    const grid = saved && saved.grid ? saved.grid.join(", ") : fields.grid && T.state.gridFor === chosen.entry ? fields.grid.value : chosen.grid.join(", ");
    T.state.gridFor = chosen.entry;
    T.state.savedRun = null;
    const options = (items, value) => items.map(item => { const o = T.h("option", {value: item}, item); if (item === value) o.selected = true; return o; });
    runButton = T.h("button", {type: "submit", class: "primary", disabled: !hello.can_run}, "Run");
    const checks = T.h("input", {type: "text", value: fields.sanitize ? fields.sanitize.value : "all", list: "checks", title: hello.checks.map(c => `${c.name}: ${c.summary}`).join("\n")});
    T.replace(form,
      T.h("div", {class: "fields"},
        field("entry", "kernel", kernel),
        field("grid", "grid", T.h("input", {type: "text", value: grid, size: 10})),
        field("engine", "engine", T.h("select", {}, ...options(hello.engines.length ? hello.engines : ["reference"], fields.engine ? fields.engine.value : "reference"))),
        field("sanitize", "checks", checks),
        field("block", "watch block", T.h("input", {type: "text", value: fields.block ? fields.block.value : "0", size: 6, title: "The tile block whose values are kept: x, y, z"})),
        field("seed", "seed", T.h("input", {type: "number", value: fields.seed ? fields.seed.value : 0, min: 0}))),
      T.h("datalist", {id: "checks"}, ...["all", "", ...hello.checks.map(c => c.name)].map(name => T.h("option", {value: name}))),
      T.h("datalist", {id: "specs"}, ...["zeros:f32:1024", "ones:f32:1024", "arange:f32:1024", "rand:f32:1024", "randn:f32:1024", "uninit:f32:1024", "i32:1024"].map(spec => T.h("option", {value: spec}))),
      T.h("table", {class: "args"}, T.h("thead", {}, T.h("tr", {}, T.h("th", {}, "argument"), T.h("th", {}, "type"), T.h("th", {}, "value"))),
        T.h("tbody", {}, ...args.map(a => T.h("tr", {}, T.h("td", {}, a.name), T.h("td", {class: "type"}, a.type), T.h("td", {}, a.input))))),
      T.h("p", {class: "hint"}, "An array is KIND:TYPE:SHAPE, where KIND is zeros, ones, arange, rand, randn or uninit; a scalar is a number. @FILE.npy is a file below the working directory."),
      T.h("div", {class: "bar"}, runButton, T.h("span", {class: "hint"}, "Ctrl+Enter")));
  }

  T.runSettings = () => forms.length ? {grid: T.integers(fields.grid.value), args: args.map(a => a.input.value)} : null;

  T.integers = text => text.split(/[\s,x×]+/).filter(Boolean).map(Number).map(n => Number.isInteger(n) ? n : -1);

  function requestOf() {
    return {
      ...T.document(), entry: kernel.value, grid: T.integers(fields.grid.value), engine: fields.engine.value,
      sanitize: fields.sanitize.value.trim(), seed: Number(fields.seed.value) || 0, block: T.integers(fields.block.value),
      convention: T.state.launch ? T.state.launch.convention : "", args: args.map(a => `${a.name}=${a.input.value}`),
    };
  }

  /** The launch that the form describes, or null. */
  T.launchRequest = async () => {
    if (!forms.length) await show();
    return forms.length && kernel ? requestOf() : null;
  };

  /** Run the kernel. Nothing but the user's command calls this. */
  T.run = async () => {
    if (T.running || !T.state.hello || !T.state.hello.can_run) { T.show("run"); return; }
    T.show("run");
    if (!forms.length) await show();
    if (!forms.length) { tabs.show("arguments"); return; }
    const request = requestOf();
    T.running = true;
    runButton.disabled = true;
    T.replace(message, T.h("div", {class: "bar"}, "running…", T.h("button", {type: "button", onclick: () => T.stop()}, "Stop")));
    T.state.grid = request.grid;
    const found = await T.ask("run", request);
    T.running = false;
    runButton.disabled = false;
    if (!found.ok) { T.replace(message, T.problem(found.error)); return; }
    T.showRun(found, request);
    T.touch("cost");
  };

  T.stop = () => T.stopRun ? T.stopRun() : T.ask("stop");

  T.showRun = (found, request) => {
    T.state.run = found;
    T.state.runRequest = request;
    const faults = found.reports.filter(r => !r.hint).length;
    T.replace(message,
      found.error ? T.h("div", {class: "problem", role: "alert"}, T.h("button", {type: "button", class: "link", onclick: () => T.select(found.error.op, "report")}, found.error.message),
        ...(found.error.notes || []).map(note => T.h("div", {class: "note"}, note))) : null,
      T.h("div", {class: faults ? "verdict bad" : "verdict"}, found.error ? "The run failed." : faults ? `${faults} fault${faults > 1 ? "s" : ""} found.`
        : found.engine === "reference" ? "The run ended, and no check found a fault." : `The run ended on engine ${found.engine}, without checks.`));
    showResults();
    showReports();
    T.emit("run");
    tabs.show(faults || found.error ? "reports" : "results");
  };

  function showResults() {
    const {run} = T.state;
    const stats = run.stats ? T.h("div", {class: "chips"}, ...[["blocks", "tile blocks"], ["operations", "operations"], ["flops", "flops"], ["bytes_read", "bytes read"], ["bytes_written", "bytes written"]]
      .map(([key, label]) => T.h("span", {class: "chip"}, `${label} `, T.h("b", {}, T.count(run.stats[key]))))) : null;
    const made = run.arguments.map(a => a.scalar ? T.h("div", {class: "facts"}, T.h("strong", {}, a.name), ` = ${T.number(a.value)} (${a.element || "number"})`)
      : T.tile(a, `${a.name}: ${a.element}${a.changed ? ", changed" : ""}`));
    const changed = run.arguments.map((a, i) => [a.changed ? 0 : 1, made[i]]).sort((a, b) => a[0] - b[0]).map(pair => pair[1]);
    T.replace(results, stats, run.printed ? T.h("pre", {class: "printed"}, run.printed) : null, ...changed);
  }

  function showReports() {
    const {run} = T.state;
    T.replace(reports, ...run.reports.map(report => T.h("div", {class: report.hint ? "report hint-report" : "report"},
      T.h("div", {class: "head"}, T.h("span", {class: "chip"}, report.check), " ",
        T.h("button", {type: "button", class: "link", onclick: () => T.select(report.op, "report", report.places.slice(1).map(p => p.op))}, report.message)),
      ...report.details.filter(line => !line.startsWith("the other access is ")).map(line => T.h("div", {class: "note"}, line)),
      ...report.places.slice(1).map(place => T.h("button", {type: "button", class: "link note", onclick: () => T.select(place.op, "report")}, `the other access: ${place.name} in tile block (${place.block.join(", ")})`)))),
    run.reports.length ? null : T.h("p", {class: "hint"}, run.error ? "The checks found nothing before the error." : "The checks found nothing."),
    run.claim ? T.h("p", {class: "hint"}, run.claim) : null);
  }

  /** Why kernels cannot run in this page, or nothing. */
  function refusal() {
    const {hello, exported} = T.state;
    if (exported) return "An exported page cannot run kernels. Open the kernel with `tilery explore`.";
    if (!hello || hello.can_run) return "";
    if (!globalThis.tileryPlayground) return "Kernels cannot run: NumPy is not installed. Everything else works.";
    return "Kernels cannot run in this playground: running needs NumPy, and the folder of Pyodide that it was made from has no wheel of it. Everything else works.";
  }

  function showIdle() {
    if (!message || T.state.run) return;
    const why = refusal();
    T.replace(message, why ? T.h("p", {class: "problem"}, why) : null);
    for (const panel of [results, reports]) T.replace(panel, why ? null : T.h("p", {class: "hint"}, "Run the kernel first."));
  }

  T.on("document", () => { args = []; showIdle(); if (tabs && !T.state.run) tabs.show("arguments"); });
  T.on("analysis", () => T.touch("run"));
  T.on("hello", () => { showIdle(); T.touch("run"); });
  T.pane({id: "run", title: "Run", side: "right", build, show});
})();
