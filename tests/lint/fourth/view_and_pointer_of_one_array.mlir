// A tile is stored through a view, and one of its elements is loaded through a pointer, without a token.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c5 = constant <i32: 5> : tile<i32>
  %c20 = constant <i32: 20> : tile<i32>
  %w = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xi32, strides=[1]>
  %v = make_partition_view %w : partition_view<tile=(16), tensor_view<64xi32, strides=[1]>>
  %x = iota : tile<16xi32>
  %t = store_view_tko weak %x, %v[%c0] : tile<16xi32>, partition_view<tile=(16), tensor_view<64xi32, strides=[1]>>, tile<i32> -> token
  %a = offset %q, %c5 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %d = offset %q, %c20 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %r, %t1 = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
  // fixed: %r, %t1 = load_ptr_tko weak %a token = %t : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %d, %r token = %t1 : tile<ptr<i32>>, tile<i32> -> token
  return
} }
