// The first slice clears the sum to which all slices add, and nobody waits for it.
// run: --grid 4 --arg ones:f32:1
cuda_tile.module @m { entry @k(%sum: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %zero = constant <f32: 0.0> : tile<f32>
  %part = constant <f32: 0.5> : tile<f32>
  %first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  %cleared = if %first -> (token) {
    %t = store_ptr_tko weak %sum, %zero : tile<ptr<f32>>, tile<f32> -> token  // fault: race
    // fixed: %unused, %t = atomic_rmw_tko relaxed device %sum, addf, %zero : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
    yield %t : token
  } else {
    %t = make_token : token
    yield %t : token
  }
  %old, %t1 = atomic_rmw_tko relaxed device %sum, addf, %part token=%cleared : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
  return
} }
