-- Neovim 0.11 or newer: put this into init.lua, and editors/vim on the runtimepath for highlighting.
vim.filetype.add({ extension = { tileir = "tileir" }, pattern = { [".*%.cuda_tile%.mlir"] = "tileir" } })
vim.lsp.config("tilery", { cmd = { "tilery", "lsp" }, filetypes = { "tileir" }, root_markers = { ".git" } })
vim.lsp.enable("tilery")

-- Bytecode as text that cannot be edited.
vim.api.nvim_create_autocmd("BufReadCmd", {
  pattern = "*.tileirbc",
  callback = function(event)
    local text = vim.fn.systemlist({ "tilery", "dis", vim.fn.fnamemodify(event.file, ":p") })
    vim.api.nvim_buf_set_lines(event.buf, 0, -1, false, text)
    vim.bo[event.buf].filetype = "tileir"
    vim.bo[event.buf].modifiable = false
    vim.bo[event.buf].buftype = "nowrite"
  end,
})
