// Lanes are numbered in eight bits, so that lanes from 128 on are before the start.
// run: --grid 2 --arg zeros:i32:512
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %i = iota : tile<256xi32>
  %byte = trunci %i : tile<256xi32> -> tile<256xi8>
  %at = exti %byte signed : tile<256xi8> -> tile<256xi32>
  // fixed: %at = exti %byte unsigned : tile<256xi8> -> tile<256xi32>
  %c256 = constant <i32: 256> : tile<i32>
  %first = muli %b, %c256 : tile<i32>
  %base = offset %p, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %p1 = reshape %base : tile<ptr<i32>> -> tile<1xptr<i32>>
  %pn = broadcast %p1 : tile<1xptr<i32>> -> tile<256xptr<i32>>
  %a = offset %pn, %at : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<256xptr<i32>>, tile<256xi32> -> token  // fault: bounds: before argument '0'
  return
} }
