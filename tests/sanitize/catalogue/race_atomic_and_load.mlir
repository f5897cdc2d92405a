// Tile blocks count atomically and look at the count with a weak load.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %at = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %old, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // other: race
  %v, %t1 = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks // cause: load_ptr_tko is weak; it would not race if it were strong and of the same size
  // fixed: %v, %t1 = load_ptr_tko relaxed device %p token=%t : tile<ptr<i32>> -> tile<i32>, token
  %t2 = store_ptr_tko weak %at, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }
