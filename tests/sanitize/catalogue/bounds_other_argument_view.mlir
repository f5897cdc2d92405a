// A view of the first argument starts in the second one.
// run: --arg arange:i64:8 --arg zeros:i64:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i64>>, %q: tile<ptr<i64>>) {
  %a = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
  %b = ptr_to_int %q : tile<ptr<i64>> -> tile<i64>
  %bytes = subi %b, %a : tile<i64>
  %eight = constant <i64: 8> : tile<i64>
  %n = divi %bytes, %eight signed rounding<zero> : tile<i64>
  %far = offset %p, %n : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %view = make_tensor_view %far, shape = [8], strides = [1] : tensor_view<8xi64, strides=[1]>
  // fixed: %view = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xi64, strides=[1]>
  %tiles = make_partition_view %view : partition_view<tile=(8), tensor_view<8xi64, strides=[1]>>
  %at = constant <i32: 0> : tile<i32>
  %x, %t = load_view_tko weak %tiles[%at] : partition_view<tile=(8), tensor_view<8xi64, strides=[1]>>, tile<i32> -> tile<8xi64>, token  // fault: bounds: argument '0'
  return
} }
