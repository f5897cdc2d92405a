// The index of a tile is memory that was never written.
// run: --arg a=uninit:i32:1 --arg b=zeros:f32:16
// fixed-run: --arg a=ones:i32:1 --arg b=zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<f32>>) {
  %n, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
  %one = constant <i32: 1> : tile<i32>
  %k = andi %n, %one : tile<i32>
  %d = make_tensor_view %q, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(8), tensor_view<16xf32, strides=[1]>>
  %v = constant <f32: 1.0> : tile<8xf32>
  %t1 = store_view_tko weak %v, %dv[%k] : tile<8xf32>, partition_view<tile=(8), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token  // fault: uninit: the index of the tile
  return
} }
