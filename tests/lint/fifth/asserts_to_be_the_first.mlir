// Every tile block asserts that its number is below one.
// run: --grid 2 --arg zeros:i32:2
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %m = cmpi less_than %b, %c1, signed : tile<i32> -> tile<i1>
  // fixed: %m = cmpi less_than %b, %n, signed : tile<i32> -> tile<i1>
  assert %m, "the first" : tile<i1>  // fault: assert
  %a = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %b : tile<ptr<i32>>, tile<i32> -> token
  return
} }
