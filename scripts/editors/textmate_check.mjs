// Tokenizes texts with the TextMate grammar, as VS Code does, and checks that operations and values have their scopes.
//
//     npm install --no-save vscode-textmate vscode-oniguruma    (in this folder or above)
//     node scripts/editors/textmate_check.mjs editors/vscode/syntaxes/tileir.tmLanguage.json FILE...
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
const require = createRequire(path.join(process.cwd(), "x.js"));
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

const [grammarFile, ...files] = process.argv.slice(2);
await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
});
const grammar = await registry.loadGrammar("source.tileir");
let lines = 0, wrong = 0;
for (const file of files) {
  let state = textmate.INITIAL;
  for (const line of fs.readFileSync(file, "utf8").split("\n")) {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    lines += 1;
    const scopeAt = (at) => result.tokens.find((t) => t.startIndex <= at && at < t.endIndex)?.scopes.join(" ") ?? "";
    const code = line.replace(/"(?:[^"\\]|\\.)*"/g, (s) => " ".repeat(s.length)).replace(/\/\/.*/, "");
    const statement = /^\s*(?:%[\w$.:, %-]+ = )?(?:cuda_tile\.)?([a-z][\w$]*)\b/.exec(code);
    const expected = [];
    if (statement) expected.push([statement.index + statement[0].length - 1, "keyword.control"]);
    for (const value of code.matchAll(/%[\w$.-]+/g)) expected.push([value.index, "variable.other"]);
    for (const type of code.matchAll(/(?<=[ <(])(?:tile|ptr|tensor_view|partition_view)(?=<)/g))
      expected.push([type.index, "storage.type"]);
    for (const [at, scope] of expected)
      if (!scopeAt(at).includes(scope)) {
        wrong += 1;
        if (wrong <= 5) console.log(`${file}: ${scope} expected at ${at}: ${line.slice(0, 100)} -> ${scopeAt(at)}`);
      }
  }
}
console.log(`${files.length} files, ${lines} lines, ${wrong} tokens without the scope they should have`);
process.exit(wrong ? 1 : 0);
