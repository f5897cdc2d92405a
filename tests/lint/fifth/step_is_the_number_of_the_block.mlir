// A loop steps by the number of the tile block, which is zero in the first one.
// run: --grid 2 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c6 = constant <i32: 6> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  for %i in (%b to %c6, step %b) : tile<i32> {  // fault: undefined: the step of the loop is not positive
  // fixed: for %i in (%b to %c6, step %n) : tile<i32> {
    %old, %t = atomic_rmw_tko relaxed device %q, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  }
  return
} }
