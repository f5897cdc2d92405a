// Each tile block stores sixteen elements, and they are only eight apart.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  // fixed: %eight = constant <i32: 16> : tile<i32>
  %o = muli %bx, %eight : tile<i32>
  %o1 = reshape %o : tile<i32> -> tile<1xi32>
  %on = broadcast %o1 : tile<1xi32> -> tile<16xi32>
  %i = iota : tile<16xi32>
  %k = addi %on, %i : tile<16xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %qn, %k : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %u = store_ptr_tko weak %a, %on : tile<16xptr<i32>>, tile<16xi32> -> token  // fault: lint
  return
} }
