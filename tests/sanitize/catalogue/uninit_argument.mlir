// A value of an argument that was never written is stored.
// run: --arg a=uninit:f32:1 --arg b=zeros:f32:1
// fixed-run: --arg a=zeros:f32:1 --arg b=uninit:f32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token  // other: uninit
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token  // fault: uninit: is stored to memory
  return
} }
