// Rows of four numbers are written eight apart in scratch memory, and read as if they were four apart.
// run: --grid 2 --arg zeros:i32:32
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %g = alloca num_elem = 32, alignment = 4 : tile<ptr<i32>>
  %i = iota : tile<16xi32>
  %two = constant <i32: 2> : tile<16xi32>
  %three = constant <i32: 3> : tile<16xi32>
  // The distance of rows as a number of bits.
  %bits = constant <i32: 3> : tile<16xi32>
  // fixed: %bits = constant <i32: 2> : tile<16xi32>
  %row = shri %i, %two unsigned : tile<16xi32>
  %column = andi %i, %three : tile<16xi32>
  %start = shli %row, %bits : tile<16xi32>
  %at = addi %start, %column : tile<16xi32>
  %g1 = reshape %g : tile<ptr<i32>> -> tile<1xptr<i32>>
  %gn = broadcast %g1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %gn, %at : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<16xptr<i32>>, tile<16xi32> -> token
  %c = offset %gn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %v, %t1 = load_ptr_tko weak %c token=%t : tile<16xptr<i32>> -> tile<16xi32>, token
  %c16 = constant <i32: 16> : tile<i32>
  %first = muli %b, %c16 : tile<i32>
  %to = offset %q, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %q1 = reshape %to : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %d = offset %qn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %t2 = store_ptr_tko weak %d, %v : tile<16xptr<i32>>, tile<16xi32> -> token  // fault: uninit
  return
} }
