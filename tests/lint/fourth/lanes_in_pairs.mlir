// Two lanes store to one element.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %two = constant <i32: 2> : tile<16xi32>
  %seven = constant <i32: 7> : tile<16xi32>
  %c = constant <i32: 31> : tile<16xi32>
  %j = divi %i, %two signed : tile<16xi32>
  // fixed: %j = muli %i, %two : tile<16xi32>
  %a1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %an, %j : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<16xptr<i32>>, tile<16xi32> -> token  // fault: lint
  return
} }
