// Tokenizes texts with the TextMate grammar, as VS Code does, and checks that tokens have their scopes.
//
//     node scripts/editors/textmate_check.mjs editors/vscode/syntaxes/tileir.tmLanguage.json FOLDER
//
// FOLDER has texts, and beside each a file .json with triples: row, column, scope. scripts/editors/report.py makes them
// from the reading without loss. vscode-textmate and vscode-oniguruma are taken from the folder it is started in.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
const require = createRequire(path.join(process.cwd(), "x.js"));
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

const [grammarFile, folder] = process.argv.slice(2);
const files = fs.readdirSync(folder).filter((name) => name.endsWith(".mlir")).map((name) => path.join(folder, name));
await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
});
const grammar = await registry.loadGrammar("source.tileir");
let lines = 0, checked = 0, wrong = 0;
for (const file of files) {
  const expected = JSON.parse(fs.readFileSync(file.replace(/mlir$/, "json"), "utf8"));
  let state = textmate.INITIAL, next = 0;
  fs.readFileSync(file, "utf8").split("\n").forEach((line, row) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    lines += 1;
    for (; next < expected.length && expected[next][0] === row; next += 1) {
      const [, column, scope] = expected[next];
      const token = result.tokens.find((t) => t.startIndex <= column && column < t.endIndex);
      const scopes = token?.scopes.join(" ") ?? "";
      checked += 1;
      if (scopes.includes(scope)) continue;
      wrong += 1;
      if (wrong <= 5) console.log(`${file}: ${scope} expected at ${column}: ${line.slice(0, 100)} -> ${scopes}`);
    }
  });
}
const shown = (number) => number.toLocaleString("en");
console.log(`${shown(lines)} lines, ${shown(checked)} tokens checked, ${shown(wrong)} without the scope they should have`);
process.exit(wrong ? 1 : 0);
