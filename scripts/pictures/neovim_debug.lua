-- Runs inside Neovim, for neovim_debug.py: a session of nvim-dap that stops where a number becomes NaN, and goes a line back.
local colors = {
  Normal = "guifg=#c0caf5 guibg=#1a1b26", NormalFloat = "guifg=#c0caf5 guibg=#24283b",
  Statement = "guifg=#7aa2f7 gui=NONE", Keyword = "guifg=#bb9af7 gui=NONE", Type = "guifg=#7dcfff gui=NONE",
  Identifier = "guifg=#e0af68 gui=NONE", Function = "guifg=#9ece6a gui=NONE", Constant = "guifg=#ff9e64 gui=NONE",
  Number = "guifg=#ff9e64 gui=NONE", PreProc = "guifg=#bb9af7 gui=NONE", Comment = "guifg=#7a819c gui=italic",
  LineNr = "guifg=#565f89", CursorLineNr = "guifg=#c0caf5", SignColumn = "guibg=#1a1b26",
  StatusLine = "guifg=#c0caf5 guibg=#24283b gui=NONE", StatusLineNC = "guifg=#7a819c guibg=#24283b gui=NONE",
  VertSplit = "guifg=#24283b guibg=#1a1b26 gui=NONE", EndOfBuffer = "guifg=#1a1b26", debugPC = "guibg=#3d4468",
}
vim.o.termguicolors, vim.o.background = true, "dark"
vim.o.number, vim.o.laststatus, vim.o.showcmd, vim.o.ruler, vim.o.wrap = true, 2, false, false, false
vim.o.statusline = " %f  %l:%c%=%y "
vim.cmd("edit kernel.tileir")
for name, color in pairs(colors) do
  vim.cmd("highlight clear " .. name)
  vim.cmd("highlight " .. name .. " " .. color)
end
local dap, widgets = require("dap"), require("dap.ui.widgets")
vim.fn.sign_define("DapStopped", { text = "▶", texthl = "Function", linehl = "debugPC" })
local stops = {}
dap.listeners.after.event_stopped["picture"] = function(_, body)
  table.insert(stops, body)
end
dap.defaults.tilery.exception_breakpoints = { "nan" }
dap.run({
  type = "tilery", request = "launch", name = "picture", program = vim.fn.expand("%:p"), grid = 4,
  arg = { "a=arange:f32:32", "out=zeros:f32:32" },
})
local function wait(count, what)
  assert(vim.wait(30000, function() return #stops >= count end, 20), what)
  vim.wait(500)
end
wait(1, "NaN")
dap.step_back()
wait(2, "back")
local scopes = widgets.sidebar(widgets.scopes, { width = 62 })
scopes.open()
vim.wait(800)
dap.repl.open({ height = 8 })
vim.cmd("wincmd p")
for _, line in ipairs({ "min(left)", "argwhere(left < 0)[0]", "block" }) do
  dap.repl.append("dap> " .. line)
  local answered = false
  dap.session():evaluate(line, function(_, answer)
    dap.repl.append(answer and answer.result or "?")
    answered = true
  end)
  vim.wait(3000, function() return answered end, 20)
end
vim.wait(300)
vim.cmd("redraw!")
vim.fn.writefile({ stops[1].text, stops[2].reason }, vim.env.READY)
