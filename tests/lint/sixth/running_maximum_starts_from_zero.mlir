// The largest of a row is kept in a loop that starts from zero, and is zero for a row of negative numbers.
// run: --grid 2 --arg rand:f32:64 --arg zeros:f32:2
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c32 = constant <i32: 32> : tile<i32>
  %least = constant <f32: 0.0> : tile<f32>
  // fixed: %least = constant <f32: 0xFF800000> : tile<f32>
  %first = muli %b, %c32 : tile<i32>
  %row = offset %p, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %largest = for %i in (%c0 to %c32, step %c1) : tile<i32> iter_values(%m = %least) -> (tile<f32>) {
    %a = offset %row, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %v, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
    %next = maxf %m, %v : tile<f32>  // fault: lint
    continue %next : tile<f32>
  }
  %to = offset %q, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %u = store_ptr_tko weak %to, %largest : tile<ptr<f32>>, tile<f32> -> token
  return
} }
