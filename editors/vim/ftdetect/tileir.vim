autocmd BufNewFile,BufRead *.tileir,*.cuda_tile.mlir setfiletype tileir
