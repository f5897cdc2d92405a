// Two stores of eight elements start four apart, and no token orders them.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %four = constant <i32: 4> : tile<8xi32>
  %eight = constant <i32: 8> : tile<8xi32>
  %j = addi %i, %four : tile<8xi32>
  // fixed: %j = addi %i, %eight : tile<8xi32>
  %a1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %an, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %d1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %dn = broadcast %d1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %d = offset %dn, %j : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token
  %u = store_ptr_tko weak %d, %i : tile<8xptr<i32>>, tile<8xi32> -> token  // fault: lint
  return
} }
