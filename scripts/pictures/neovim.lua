-- Runs inside Neovim, for neovim.py: colours, a text with two errors, and the reference of an operation in a window.
local colors = {
  Normal = "guifg=#c0caf5 guibg=#1a1b26", NormalFloat = "guifg=#c0caf5 guibg=#24283b", FloatBorder = "guifg=#7a819c guibg=#24283b",
  Statement = "guifg=#7aa2f7 gui=NONE", Keyword = "guifg=#bb9af7 gui=NONE", Type = "guifg=#7dcfff gui=NONE",
  Identifier = "guifg=#e0af68 gui=NONE", Function = "guifg=#9ece6a gui=NONE", Constant = "guifg=#ff9e64 gui=NONE",
  Number = "guifg=#ff9e64 gui=NONE", PreProc = "guifg=#bb9af7 gui=NONE", String = "guifg=#9ece6a gui=NONE",
  Comment = "guifg=#7a819c gui=italic", LineNr = "guifg=#565f89", CursorLineNr = "guifg=#c0caf5", SignColumn = "guibg=#1a1b26",
  StatusLine = "guifg=#c0caf5 guibg=#24283b gui=NONE", DiagnosticError = "guifg=#f7768e", EndOfBuffer = "guifg=#1a1b26",
  DiagnosticUnderlineError = "gui=underline guisp=#f7768e", Title = "guifg=#7aa2f7 gui=bold",
}
vim.o.termguicolors, vim.o.background = true, "dark"
vim.o.number, vim.o.laststatus, vim.o.showcmd, vim.o.ruler = true, 2, false, false
vim.o.statusline = " %f  %l:%c%=%y "
vim.diagnostic.config({ virtual_text = { prefix = "■" }, underline = true })
vim.cmd("edit kernel.tileir")
for name, color in pairs(colors) do
  vim.cmd("highlight clear " .. name)
  vim.cmd("highlight " .. name .. " " .. color)
end
assert(vim.wait(30000, function() return #vim.diagnostic.get(0) == 2 end, 20), "two errors are expected")
local row = vim.fn.search("mulf")
vim.api.nvim_win_set_cursor(0, { row, vim.fn.getline(row):find("mulf", 1, true) - 1 })
vim.lsp.handlers["textDocument/hover"] =
  vim.lsp.with(vim.lsp.handlers.hover, { border = "rounded", max_width = 108, max_height = 16 })
vim.lsp.buf.hover()
assert(vim.wait(30000, function() return #vim.api.nvim_list_wins() > 1 end, 20), "hover")
for _, window in ipairs(vim.api.nvim_list_wins()) do
  vim.api.nvim_win_set_option(window, "linebreak", true)
end
vim.cmd("redraw!")
vim.fn.writefile({ "" }, vim.env.READY)
