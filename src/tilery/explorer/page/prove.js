// The pane of proofs: another kernel beside the one in the editor, and between them whether both compute the same.
"use strict";
(() => {
  const T = globalThis.tilery, V = globalThis.tileryVendor;
  let view = null, from, grid, how, button, answer;

  function build() {
    const made = T.editor({language: "tileir", label: "The other kernel", readOnly: Boolean(T.state.exported),
      extensions: [V.EditorView.updateListener.of(update => { if (update.docChanged) clear(); })]});
    view = made.view;
    from = T.h("select", {"aria-label": "The other kernel", onchange: event => take(event.target.value)});
    grid = T.h("input", {type: "text", size: 10, placeholder: "as A", title: "The grid of the other kernel: x, y, z"});
    how = T.h("select", {});
    button = T.h("button", {type: "button", class: "primary", onclick: () => prove()}, "Prove");
    answer = T.h("div", {class: "proof"});
    clear();
    return T.h("div", {class: "column"},
      T.h("div", {class: "bar"}, T.h("label", {class: "field"}, T.h("span", {}, "B"), from),
        T.h("label", {class: "field"}, T.h("span", {}, "grid of B"), grid), T.h("label", {class: "field"}, T.h("span", {}, "over"), how), button),
      answer, made.host);
  }

  function fill() {
    const {hello, exported} = T.state;
    if (!hello) return;
    T.replace(from, T.h("option", {value: ""}, "choose"), T.h("option", {value: "copy:"}, "a copy of A"),
      ...hello.files.map((file, i) => T.h("option", {value: `file:${i}`, title: file.name}, file.name.split("/").pop())),
      T.h("optgroup", {label: "Examples"}, ...hello.examples.map(name => T.h("option", {value: `example:${name}`}, name))));
    T.replace(how, T.h("option", {value: "reals"}, "real numbers, this launch"),
      hello.bits ? T.h("option", {value: "bits"}, "bits, all inputs") : null);
    button.disabled = Boolean(exported) || !hello.can_run;
    clear();
  }

  async function take(choice) {
    const [kind, name] = [choice.slice(0, choice.indexOf(":")), choice.slice(choice.indexOf(":") + 1)];
    if (!choice) return;
    let text = T.state.text;
    if (kind !== "copy") {
      const found = await T.ask("open", kind === "file" ? {file: Number(name)} : {example: name});
      if (!found.ok) { T.replace(answer, T.problem(found.error)); return; }
      if (found.text === null) { T.replace(answer, T.problem({message: "this is a source: compile it on the left, and take a copy", notes: []})); return; }
      text = found.text;
    }
    view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}});
  }

  function clear() {
    if (!answer) return;
    const {hello, exported} = T.state;
    const can = !exported && (!hello || hello.can_run);
    T.replace(answer, T.h("p", {class: "hint"}, can ? "A is the text in the editor, B the text below. The launch is that of the Run pane: arrays of floats hold any real numbers."
      : exported ? "An exported page cannot prove anything. Open the kernel with `tilery explore`." : "Proofs need NumPy, which is not here."));
  }

  /** Compare both kernels. Nothing but the user's command calls this. */
  async function prove() {
    if (T.running) return;
    const launch = await T.launchRequest();
    if (!launch) { T.replace(answer, T.problem({message: "A has no kernel that can be launched; look at the Run pane", notes: []})); return; }
    const request = {...launch, other: view.state.doc.toString(), how: how.value};
    if (grid.value.trim()) request.other_grid = T.integers(grid.value);
    T.running = true;
    button.disabled = true;
    T.replace(answer, T.h("div", {class: "bar"}, "proving…", T.h("button", {type: "button", onclick: () => T.stop()}, "Stop")));
    const found = await T.ask("prove", request);
    T.running = false;
    button.disabled = false;
    T.replace(answer, found.ok ? shown(found.verdict) : T.problem(found.error));
  }

  function shown(verdict) {
    const kind = {equal: "verdict", different: "verdict bad"}[verdict.answer] || "verdict open";
    const lines = [verdict.reason, verdict.theorem, verdict.chance ? `chance of error: ${verdict.chance}` : "",
      ...verdict.assumed.map(each => `assumed: ${each}`), verdict.ignored.length ? `not looked at: ${verdict.ignored.join(", ")}` : "", ...verdict.notes];
    const w = verdict.witness;
    if (w) lines.push(`witness: ${w.output}[${w.element.join(", ")}] is ${w.values[0]} in A and ${w.values[1]} in B (${w.how})`,
      w.own ? `in the kernels' own types: ${w.own[0]} and ${w.own[1]}` : "");
    return T.h("div", {role: "status"}, T.h("div", {class: kind}, `A and B: ${verdict.answer}`), ...lines.filter(Boolean).map(line => T.h("div", {class: "note"}, line)));
  }

  T.on("hello", fill);
  T.on("document", clear);
  T.on("edited", clear);
  T.pane({id: "prove", title: "Prove", side: "right", build});
})();
