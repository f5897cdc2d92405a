// A pointer to the first argument is moved to the second one, which may be beside it in memory.
// run: --arg arange:i64:8 --arg zeros:i64:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i64>>, %q: tile<ptr<i64>>) {
  %a = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
  %b = ptr_to_int %q : tile<ptr<i64>> -> tile<i64>
  %bytes = subi %b, %a : tile<i64>
  %eight = constant <i64: 8> : tile<i64>
  %n = divi %bytes, %eight signed rounding<zero> : tile<i64>
  %far = offset %p, %n : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %zero = subi %n, %n : tile<i64>
  %to = offset %far, %zero : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  // fixed: %to = offset %q, %zero : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %t = store_ptr_tko weak %to, %eight : tile<ptr<i64>>, tile<i64> -> token  // fault: bounds: a write through a pointer to argument '0' is outside of it
  return
} }
