// A tile is divided by the difference of two equal tiles.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %h = constant <i32: 100> : tile<8xi32>
  %j = iota : tile<8xi32>
  %d = subi %i, %j : tile<8xi32>
  // fixed: %d = subi %h, %j : tile<8xi32>
  %v = divi %h, %d signed : tile<8xi32>  // fault: lint
  %a1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %an, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %v : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }
