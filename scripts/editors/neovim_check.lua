-- Runs inside Neovim, for neovim_check.py: uses the client as a person does, and writes what was seen as JSON.
local out = {}

local function wait(what, condition)
  assert(vim.wait(30000, condition, 20), what .. " took too long")
end

local function diagnostics()
  return vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0, { severity = { min = vim.diagnostic.severity.WARN } }))
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return window
    end
  end
end

local function group(text)
  local row = vim.fn.search([[\V]] .. text, "cnw")
  local column = vim.fn.getline(row):find(text, 1, true)
  return vim.fn.synIDattr(vim.fn.synID(row, column, 1), "name"):gsub("tileir", "")
end

local function go(row, text)
  vim.api.nvim_win_set_cursor(0, { row, vim.fn.getline(row):find(text, 1, true) - 1 })
end

local function check()
  vim.cmd("edit " .. vim.env.CHECKED)
  out.version = vim.split(vim.fn.execute("version"), "\n", { trimempty = true })[1]
  out.filetype = vim.bo.filetype
  wait("attaching", function() return #vim.tbl_keys(vim.lsp.buf_get_clients(0)) == 1 end)
  wait("the first diagnostic", function() return #diagnostics() > 0 end)
  out.errors = diagnostics()
  vim.cmd("silent %s/iotta/iota/")
  wait("the end of diagnostics", function() return #diagnostics() == 0 end)

  go(2, "iota")
  vim.lsp.buf.hover()
  wait("hover", floating)
  out.hover = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floating()), 0, 3, false)
  vim.api.nvim_win_close(floating(), true)

  go(3, "%a")
  vim.lsp.buf.definition()
  wait("definition", function() return vim.api.nvim_win_get_cursor(0)[1] == 2 end)
  out.definition = vim.api.nvim_win_get_cursor(0)

  vim.lsp.buf.rename("eight")
  wait("rename", function() return vim.fn.getline(3):find("%%eight") end)
  out.renamed = lines()

  if vim.lsp.buf.format then -- 0.8
    vim.lsp.buf.format({ timeout_ms = 30000 })
  else
    vim.lsp.buf.formatting_sync(nil, 30000)
  end
  out.formatted = lines()
  out.groups = {}
  for _, text in ipairs(vim.json.decode(vim.env.WORDS)) do
    out.groups[text] = group(text)
  end

  vim.cmd("silent write")
  vim.cmd("edit " .. vim.env.BYTECODE)
  out.bytecode = { vim.bo.filetype, vim.bo.modifiable, lines()[1] }
end

local right, problem = pcall(check)
out.problem = not right and problem or nil
vim.fn.writefile({ vim.json.encode(out) }, vim.env.RESULT)
vim.cmd("qall!")
