// Tile blocks draw tickets, and two tickets have one slot.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%tickets: tile<ptr<i32>>, %slots: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %ticket, %t1 = atomic_rmw_tko relaxed device %tickets, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %slot = shri %ticket, %c1 unsigned : tile<i32>
  // fixed: %slot = shri %ticket, %c0 unsigned : tile<i32>
  %to = offset %slots, %slot : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t2 = store_ptr_tko weak %to, %b : tile<ptr<i32>>, tile<i32> -> token  // fault: race: two tile blocks
  return
} }
