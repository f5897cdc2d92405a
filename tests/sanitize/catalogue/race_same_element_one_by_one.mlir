// Tile blocks that run one after the other store to the same element.
// run: --grid 4 --batch 1 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token  // fault: race: two tile blocks // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or let the first release and the second acquire
  // fixed: %t = store_ptr_tko weak %q, %b : tile<ptr<i32>>, tile<i32> -> token
  return
} }
