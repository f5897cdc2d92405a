// A block stores sixteen elements, and the next one starts eight further.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %step = constant <i32: 8> : tile<i32>
  %s = muli %b, %step : tile<i32>
  %wide = constant <i32: 16> : tile<i32>
  %s2 = muli %b, %wide : tile<i32>
  %i = iota : tile<16xi32>
  %s1 = reshape %s : tile<i32> -> tile<1xi32>
  // fixed: %s1 = reshape %s2 : tile<i32> -> tile<1xi32>
  %sn = broadcast %s1 : tile<1xi32> -> tile<16xi32>
  %j = addi %sn, %i : tile<16xi32>
  %a1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %an, %j : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<16xptr<i32>>, tile<16xi32> -> token  // fault: lint
  return
} }
