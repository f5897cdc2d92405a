// Lanes store at their distance from the middle, which two of them share.
// run: --arg zeros:i32:16
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %from = muli %b, %c8 : tile<i32>
  %fn_1 = reshape %from : tile<i32> -> tile<1xi32>
  %fn = broadcast %fn_1 : tile<1xi32> -> tile<8xi32>
  %i = iota : tile<8xi32>
  %four = constant <i32: 4> : tile<8xi32>
  %d = subi %i, %four : tile<8xi32>
  %far = absi %d : tile<8xi32>
  // fixed: %far = addi %d, %four : tile<8xi32>
  %at = addi %fn, %far : tile<8xi32>
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token  // fault: race: two elements of one weak store
  return
} }
