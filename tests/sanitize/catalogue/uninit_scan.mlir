// A running sum starts with elements that a mask keeps from being loaded.
// run: --arg ones:f32:8 --arg zeros:f32:8
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %lane = iota : tile<8xi32>
  %two = constant <i32: 2> : tile<8xi32>
  %mask = cmpi greater_than_or_equal %lane, %two, signed : tile<8xi32> -> tile<8xi1>
  %zero = constant <f32: 0.0> : tile<8xf32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p8 = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %p8, %lane : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q8 = broadcast %q1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %b = offset %q8, %lane : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %v, %t = load_ptr_tko weak %a, %mask : tile<8xptr<f32>>, tile<8xi1> -> tile<8xf32>, token  // other: uninit
  // fixed: %v, %t = load_ptr_tko weak %a, %mask, %zero : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
  %s = scan %v dim=0 reverse=false identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32> (%x: tile<f32>, %y: tile<f32>) {
    %r = addf %x, %y : tile<f32>
    yield %r : tile<f32>
  }
  %t1 = store_ptr_tko weak %b, %s : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: uninit: is stored to memory // cause: and came here through scan
  return
} }
