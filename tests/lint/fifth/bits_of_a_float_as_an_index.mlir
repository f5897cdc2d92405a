// A float is reinterpreted, not converted, and is an index of a table.
// run: --arg zeros:f32:1
cuda_tile.module @m { global constant @table <f32: [1.0, 2.0, 4.0, 8.0]> : tile<4xf32>
  entry @k(%q: tile<ptr<f32>>) {
  %x = constant <f32: 2.0> : tile<f32>
  %i = bitcast %x : tile<f32> -> tile<i32>
  // fixed: %i = ftoi %x signed : tile<f32> -> tile<i32>
  %g = get_global @table : tile<ptr<f32>>
  %a = offset %g, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token  // fault: bounds
  %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }
