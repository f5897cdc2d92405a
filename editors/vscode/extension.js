// Starts `tilery lsp` and `tilery dap`, opens bytecode as text, and shows the Tile IR of cuTile kernels.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const SCHEME = "tilery-text";
const TILE_IR = /^\s*(cuda_tile\.|entry @|global @)/;
let client;

// Files of all dialects of MLIR end in .mlir: returns the language of such a text, or undefined if it need not change.
function languageOf(path, language, lines, known) {
  if (!path.endsWith(".mlir") || path.endsWith(".cuda_tile.mlir")) return undefined;
  const isTileIR = lines.some((line) => TILE_IR.test(line));
  if (isTileIR) return language === "tileir" ? undefined : "tileir";
  const isBlank = lines.every((line) => line.trim() === "" || line.trim().startsWith("//"));
  if (language !== "tileir" || isBlank) return undefined;
  return known.includes("mlir") ? "mlir" : "plaintext";
}

async function recognise(document) {
  const lines = document.getText(new vscode.Range(0, 0, 100, 0)).split("\n");
  const known = await vscode.languages.getLanguages();
  const language = languageOf(document.uri.path, document.languageId, lines, known);
  if (language) await vscode.languages.setTextDocumentLanguage(document, language);
}

function adapter() {
  const [command, ...args] = vscode.workspace.getConfiguration("tilery").get("debugCommand");
  return new vscode.DebugAdapterExecutable(command, args);
}

// Without a launch.json, the file in the editor is debugged from its first operation.
function configuration(folder, given) {
  if (given.program) return given;
  const program = vscode.window.activeTextEditor?.document.uri.fsPath;
  return { type: "tilery", request: "launch", name: "Debug a kernel", stopOnEntry: true, ...given, program };
}

async function activate(context) {
  const [command, ...args] = vscode.workspace.getConfiguration("tilery").get("command");
  client = new LanguageClient(
    "tilery",
    "tilery",
    { command, args },
    {
      documentSelector: [{ language: "tileir" }, { language: "python", scheme: "file" }],
      middleware: { executeCommand: showResult },
    },
  );

  const texts = new Map();
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(recognise),
    vscode.workspace.onDidSaveTextDocument(recognise),
    vscode.debug.registerDebugAdapterDescriptorFactory("tilery", { createDebugAdapterDescriptor: adapter }),
    vscode.debug.registerDebugConfigurationProvider("tilery", { resolveDebugConfiguration: configuration }),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? "",
    }),
    vscode.window.registerCustomEditorProvider("tilery.bytecode", {
      openCustomDocument: (uri) => ({ uri, dispose() {} }),
      async resolveCustomEditor(document, panel) {
        await show(`${document.uri.path}.tileir`, await run("tilery.disassemble", [document.uri.toString()]));
        panel.dispose();
      },
    }),
  );

  function run(name, parameters) {
    return client.sendRequest("workspace/executeCommand", { command: name, arguments: parameters });
  }

  // The text is read-only: its scheme has no file system.
  async function show(path, text) {
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    texts.set(uri.toString(), text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, "tileir");
    await vscode.window.showTextDocument(document, { preview: true });
  }

  async function showResult(name, parameters, next) {
    const result = await next(name, parameters);
    if (name === "tilery.showTileIR" && typeof result === "string") await show(`/${parameters[1]}.tileir`, result);
    return result;
  }

  await Promise.all(vscode.workspace.textDocuments.map(recognise));
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`tilery: cannot start '${command}': pip install 'tilery[lsp]' (${error.message})`);
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate, languageOf };
