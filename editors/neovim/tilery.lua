-- Neovim 0.7 or newer: put this into init.lua, and editors/vim on the runtimepath for highlighting.
local command, client = { "tilery", "lsp" }, nil
vim.api.nvim_create_autocmd({ "BufNewFile", "BufRead" }, {
  pattern = { "*.tileir", "*.cuda_tile.mlir" },
  command = "set filetype=tileir",
})
-- A file of another dialect of MLIR keeps its type.
vim.api.nvim_create_autocmd({ "BufRead", "BufWritePost" }, {
  pattern = "*.mlir",
  callback = function(event)
    local lines = vim.api.nvim_buf_get_lines(event.buf, 0, 100, false)
    local found = vim.fn.match(lines, [[^\s*\%(cuda_tile\.\|entry @\|global @\)]]) >= 0
    if found and vim.bo[event.buf].filetype ~= "tileir" then
      vim.bo[event.buf].filetype = "tileir"
    end
  end,
})
vim.api.nvim_create_autocmd("FileType", {
  pattern = "tileir",
  callback = function(event)
    local folder = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(event.buf), ":p:h")
    local settings = { name = "tilery", cmd = command, root_dir = folder }
    if vim.lsp.start then -- 0.8
      vim.lsp.start(settings)
      return
    end
    client = client and vim.lsp.get_client_by_id(client) and client or vim.lsp.start_client(settings)
    if client then
      vim.lsp.buf_attach_client(event.buf, client)
    end
  end,
})

-- Debugging with nvim-dap, if it is installed: `:lua require("dap").continue()` in a kernel or a cuTile script.
local found, dap = pcall(require, "dap")
if found then
  dap.adapters.tilery = { type = "executable", command = "tilery", args = { "dap" } }
  local function words(prompt)
    return function()
      return vim.split(vim.fn.input(prompt), " ", { trimempty = true })
    end
  end
  local kernel = { type = "tilery", request = "launch", name = "Debug this kernel", program = "${file}", stopOnEntry = true }
  kernel.arg = words("arguments, such as a=rand:f32:64 n=64: ")
  dap.configurations.tileir = { kernel }
  local script = { type = "tilery", request = "launch", name = "Debug cuTile kernels", program = "${file}", stopOnEntry = true }
  dap.configurations.python = vim.list_extend(dap.configurations.python or {}, { script })
end

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
