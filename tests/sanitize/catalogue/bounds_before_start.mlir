// An index below zero reads before the argument.
// run: --grid 2 --arg arange:f32:8 --arg zeros:f32:2
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %c = subi %b, %one : tile<i32>
  // fixed: %c = addi %b, %one : tile<i32>
  %a = offset %p, %c : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %to = offset %q, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token  // fault: bounds: 4 bytes before argument '0'
  %t1 = store_ptr_tko weak %to, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }
