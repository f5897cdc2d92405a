// A tile has five elements inside its tensor, and its second half is used.
// run: --arg arange:f32:5 --arg zeros:f32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %s = make_tensor_view %p, shape = [5], strides = [1] : tensor_view<5xf32, strides=[1]>
  %v = make_partition_view %s : partition_view<tile=(8), tensor_view<5xf32, strides=[1]>>
  %w, %t = load_view_tko weak %v[%c0] : partition_view<tile=(8), tensor_view<5xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token  // other: uninit
  %half = extract %w[%c1] : tile<8xf32> -> tile<4xf32>
  // fixed: %half = extract %w[%c0] : tile<8xf32> -> tile<4xf32>
  %r = mulf %half, %half : tile<4xf32>
  %i = iota : tile<4xi32>
  %a_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %a = offset %a_n, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %u = store_ptr_tko weak %a, %r : tile<4xptr<f32>>, tile<4xf32> -> token  // fault: uninit: is stored to memory
  return
} }
