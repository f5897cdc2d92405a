// Each tile block replaces an element by its right neighbour, in place.
// run: --grid 4 --arg arange:f32:8 --arg zeros:f32:8
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %right = addi %b, %one : tile<i32>
  %src = offset %p, %right : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %dst = offset %p, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  // fixed: %dst = offset %q, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %src : tile<ptr<f32>> -> tile<f32>, token  // other: race
  %t1 = store_ptr_tko weak %dst, %v token=%t : tile<ptr<f32>>, tile<f32> -> token  // fault: race: two tile blocks // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or let the first release and the second acquire
  return
} }
