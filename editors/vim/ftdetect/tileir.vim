autocmd BufNewFile,BufRead *.tileir,*.cuda_tile.mlir set filetype=tileir
" A file of another dialect of MLIR keeps its type.
autocmd BufRead,BufWritePost *.mlir
  \ if &filetype !=# 'tileir' && match(getline(1, 100), '^\s*\%(cuda_tile\.\|entry @\|global @\)') >= 0
  \ | set filetype=tileir
  \ | endif
