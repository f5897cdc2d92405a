// The playground: requests go to a worker in which tilery runs by Pyodide.
"use strict";
(() => {
  const waiting = new Map();
  let worker = null, number = 0, ready = null, box = null, T = null, last = null;

  function start() {
    worker = new Worker("./worker.js", {type: "module"});
    ready = new Promise((resolve, reject) => {
      const failed = message => {
        progress({stage: `it cannot start: ${message}`, part: last ? last.part : 0});
        reject(new Error(message));
      };
      worker.onmessage = ({data}) => {
        if (data.kind === "progress") progress(data);
        else if (data.kind === "ready") { finished(data); resolve(); }
        else if (data.kind === "failed") failed(data.message);
        else if (waiting.has(data.id)) { waiting.get(data.id)(JSON.parse(data.response)); waiting.delete(data.id); }
      };
      worker.onerror = event => failed(event.message || "a file of the playground is missing");
    });
    return ready;
  }

  function progress(state) {
    last = state;
    if (!box) return;
    box.bar.value = state.part;
    box.text.textContent = state.stage;
  }

  function finished(data) {
    document.documentElement.dataset.cold = JSON.stringify(data.times);
    if (box) box.element.close();
    box = last = null;
  }

  function showProgress() {
    const bar = T.h("progress", {max: 1, value: 0, "aria-label": "Starting"}), text = T.h("p", {}, "starting");
    const element = T.h("dialog", {class: "progress", "aria-label": "Starting"}, T.h("h2", {}, "Python is starting in this browser"), bar, text,
      T.h("p", {class: "hint"}, "Nothing leaves this page: tilery itself runs here."));
    element.addEventListener("cancel", event => event.preventDefault());
    element.addEventListener("close", () => element.remove());
    document.body.append(element);
    element.showModal();
    box = {element, bar, text};
    if (last) progress(last);
  }

  globalThis.tileryPlayground = {
    async transport(request) {
      await ready;
      return new Promise(resolve => {
        const id = ++number;
        waiting.set(id, resolve);
        worker.postMessage({id, request: JSON.stringify(request)});
      });
    },
    async started(page) {
      T = page;
      T.stopRun = async () => {  // a worker cannot be interrupted: it is replaced
        worker.terminate();
        for (const resolve of waiting.values()) resolve({ok: false, error: {message: "the run was stopped", notes: []}});
        waiting.clear();
        showProgress();
        await start();
      };
      showProgress();
      await ready;
    },
  };
  start().catch(() => {});  // the other scripts are still loading; `started` shows what went wrong
})();
