// The same four lanes are joined twice, so that both halves of a tile are stored at the same places.
// run: --arg zeros:i32:8
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %from = muli %b, %c8 : tile<i32>
  %fn_1 = reshape %from : tile<i32> -> tile<1xi32>
  %fn = broadcast %fn_1 : tile<1xi32> -> tile<8xi32>
  %i = iota : tile<4xi32>
  %four = constant <i32: 4> : tile<4xi32>
  %j = addi %i, %four : tile<4xi32>
  %both = cat %i, %i dim = 0 : tile<4xi32>, tile<4xi32> -> tile<8xi32>
  // fixed: %both = cat %j, %i dim = 0 : tile<4xi32>, tile<4xi32> -> tile<8xi32>
  %at = addi %fn, %both : tile<8xi32>
  %v = iota : tile<8xi32>
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %v : tile<8xptr<i32>>, tile<8xi32> -> token  // fault: race: two elements of one weak store
  return
} }
