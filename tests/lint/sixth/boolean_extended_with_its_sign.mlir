// Lanes from the fifth on belong to the next row, but a comparison that is extended with its sign is minus one.
// run: --grid 2 --arg zeros:i32:64
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %i = iota : tile<8xi32>
  %five = constant <i32: 5> : tile<8xi32>
  %row = constant <i32: 16> : tile<8xi32>
  %is_next = cmpi greater_than_or_equal %i, %five, signed : tile<8xi32> -> tile<8xi1>
  %next = exti %is_next signed : tile<8xi1> -> tile<8xi32>
  // fixed: %next = exti %is_next unsigned : tile<8xi1> -> tile<8xi32>
  %skip = muli %next, %row : tile<8xi32>
  %at = addi %skip, %i : tile<8xi32>
  %c32 = constant <i32: 32> : tile<i32>
  %first = muli %b, %c32 : tile<i32>
  %base = offset %p, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %p1 = reshape %base : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %p8, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token  // fault: bounds: before argument '0'
  return
} }
