// The pane of passes: what each one changed, side by side, and the rules that fired.
"use strict";
(() => {
  const T = globalThis.tilery;
  const CONTEXT = 3;
  let input, steps, detail, list, found = null, current = 0, rows = [], whole = false;

  function build() {
    input = T.h("input", {type: "text", class: "wide", "aria-label": "Passes", list: "pass-names", spellcheck: "false",
      onchange: () => { T.state.passes = input.value; T.touch("pipeline"); }});
    const names = T.h("datalist", {id: "pass-names"});
    T.on("hello", () => {
      input.value = T.state.passes;
      T.replace(names, ...T.state.hello.passes.map(p => T.h("option", {value: p.name}, p.doc)));
    });
    const all = T.h("label", {class: "check"}, T.h("input", {type: "checkbox", onchange: event => { whole = event.target.checked; showStep(current); }}), "all lines");
    const apply = T.h("button", {type: "button", title: "Replace the text by the result", onclick: () => {
      if (found && !T.state.exported) T.setDocument(found.text, {name: T.state.name});
    }}, "Take the result");
    steps = T.h("ol", {class: "steps", role: "listbox", "aria-label": "Passes", tabindex: "0", onkeydown: key});
    detail = T.h("div", {class: "detail"});
    list = new T.List({row, height: 19, label: "Difference", activate: i => {
      if (rows[i].id > 0) T.select(rows[i].id, "pipeline");
    }});
    list.element.classList.add("diff");
    return T.h("div", {class: "column"}, T.h("div", {class: "bar"}, input, names, all, T.state.exported ? null : apply), steps, detail, list.element);
  }

  function key(event) {
    const by = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, j: 1, k: -1}[event.key];
    if (!by || !found) return;
    T.stepPass(by);
    event.preventDefault();
  }

  T.stepPass = by => { if (found && found.steps.length) showStep(Math.max(0, Math.min(found.steps.length - 1, current + by))); };

  async function show() {
    const version = T.state.version;
    input.value = T.state.passes;
    const made = await T.ask("pipeline", {...T.document(), passes: T.state.passes});
    if (version !== T.state.version) return;
    if (!made.ok) {
      found = null;
      T.replace(steps);
      T.replace(detail, T.problem(made.error));
      rows = [];
      list.set(0);
      return;
    }
    found = made;
    const first = made.steps.findIndex(step => step.changed);
    showStep(current < made.steps.length && made.steps[current] && made.steps[current].changed ? current : Math.max(0, first));
  }

  function showStep(number) {
    current = number;
    if (!found) return;
    let before = found.operations;
    T.replace(steps, ...found.steps.map((step, i) => {
      const fired = step.rules.reduce((sum, [, count]) => sum + count, 0);
      const change = step.operations - before;
      before = step.operations;
      return T.h("li", {class: step.changed ? "changed" : "", role: "option", "aria-selected": String(i === number), onclick: () => showStep(i), title: step.doc},
        T.h("strong", {}, step.pass), " ",
        step.changed ? `${T.plural(fired, "change")}, ${T.plural(step.operations, "operation")}${change ? ` (${change > 0 ? "+" : ""}${change})` : ""}` : "nothing changed",
        step.complete ? null : " stopped early");
    }));
    const step = found.steps[number];
    if (!step) { T.replace(detail, "There are no passes."); rows = []; list.set(0); return; }
    T.replace(detail,
      T.h("div", {class: "chips"}, ...step.rules.map(([name, count]) => T.h("span", {class: "chip"}, name, T.h("b", {}, ` ×${count}`)))),
      ...step.remarks.slice(0, 20).map(r => T.h("button", {type: "button", class: "remark", onclick: () => T.select(r.op, "remark")}, `${T.opName(r.op)}: ${r.text}`)));
    rows = step.changed ? aligned(step) : [];
    list.set(rows.length);
    list.element.scrollTop = 0;
    showSelection("");
  }

  /** Pair removed lines with added ones, and leave out what is far from a change. */
  function aligned(step) {
    const made = [];
    const {signs, texts, lines, ids} = step;
    let i = 0;
    while (i < signs.length) {
      if (signs[i] === " ") {
        made.push({kind: "same", id: ids[i], left: texts[i], right: texts[i], a: lines[i][0], b: lines[i][1]});
        i++;
        continue;
      }
      const minus = [], plus = [];
      while (i < signs.length && signs[i] === "-") minus.push(i++);
      while (i < signs.length && signs[i] === "+") plus.push(i++);
      if (innerWidth < 900) {  // one column: the lines below each other
        for (const m of minus) made.push({kind: "removed", id: ids[m], left: texts[m], right: "", a: lines[m][0], b: 0});
        for (const p of plus) made.push({kind: "added", id: ids[p], left: "", right: texts[p], a: 0, b: lines[p][1]});
        continue;
      }
      for (let k = 0; k < Math.max(minus.length, plus.length); k++) {
        const m = minus[k], p = plus[k];
        made.push({kind: m === undefined ? "added" : p === undefined ? "removed" : "changed",
          id: m !== undefined ? ids[m] : ids[p], left: m === undefined ? "" : texts[m], right: p === undefined ? "" : texts[p],
          a: m === undefined ? 0 : lines[m][0], b: p === undefined ? 0 : lines[p][1]});
      }
    }
    if (whole) return made;
    const near = new Uint8Array(made.length);
    made.forEach((each, at) => {
      if (each.kind === "same") return;
      for (let k = Math.max(0, at - CONTEXT); k <= Math.min(made.length - 1, at + CONTEXT); k++) near[k] = 1;
    });
    const out = [];
    let hidden = [];
    const leaveOut = () => {  // a single line takes as much room as a gap
      out.push(...(hidden.length > 1 ? [{kind: "gap", id: -1, count: hidden.length}] : hidden));
      hidden = [];
    };
    made.forEach((each, at) => {
      if (!near[at]) { hidden.push(each); return; }
      leaveOut();
      out.push(each);
    });
    leaveOut();
    return out;
  }

  function row(i) {
    const each = rows[i];
    if (each.kind === "gap") return T.h("div", {class: "row gap"}, `⋯ ${T.count(each.count)} equal lines`);
    const chosen = each.id > 0 && each.id === T.state.selected ? " chosen" : T.state.related.has(each.id) ? " near" : "";
    return T.h("div", {class: `row pair ${each.kind}${chosen}`},
      T.h("span", {class: "no"}, each.a || ""), T.h("span", {class: "left"}, each.left),
      T.h("span", {class: "no"}, each.b || ""), T.h("span", {class: "right"}, each.right));
  }

  function showSelection(from) {
    if (from !== "pipeline") {
      const at = rows.findIndex(each => each.id > 0 && each.id === T.state.selected);
      if (at >= 0) { list.active = at; list.reveal(at); }
    }
    list.draw();
  }

  T.on("analysis", () => T.touch("pipeline"));
  T.on("hello", () => T.touch("pipeline"));
  T.on("select", from => { if (list) showSelection(from); });
  T.pane({id: "pipeline", title: "Pipeline", side: "right", build, show, shown: () => showSelection("")});
})();
