// An address is moved by bytes and then used for four-byte elements.
// run: --arg arange:f32:8 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %c = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i8>>
  %two = constant <i32: 2> : tile<i32>
  // fixed: %two = constant <i32: 8> : tile<i32>
  %m = offset %c, %two : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
  %a = ptr_to_ptr %m : tile<ptr<i8>> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token  // fault: alignment: not a multiple of 4
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }
