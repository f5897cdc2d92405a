// Two tile blocks add their parts of a sum to the result with a load and a store.
// run: --grid 2,4 --arg ones:f32:8 --arg zeros:f32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
  %k, %b, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %row = muli %b, %two : tile<i32>
  %at = addi %row, %k : tile<i32>
  %src = offset %p, %at : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %dst = offset %c, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %x, %t = load_ptr_tko weak %src : tile<ptr<f32>> -> tile<f32>, token
  %old, %t1 = load_ptr_tko weak %dst : tile<ptr<f32>> -> tile<f32>, token  // other: race
  // fixed: %old, %t1 = atomic_rmw_tko relaxed device %dst, addf, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
  %new = addf %old, %x : tile<f32>
  %t2 = store_ptr_tko weak %dst, %new token=%t1 : tile<ptr<f32>>, tile<f32> -> token  // fault: race // fault: race // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or use an atomic
  // fixed:
  return
} }
