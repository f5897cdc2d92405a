// An address that was an integer may be in any buffer; a pointer that is moved there may not.
// run: --arg arange:i64:8 --arg zeros:i64:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i64>>, %q: tile<ptr<i64>>) {
  %a = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
  %b = ptr_to_int %q : tile<ptr<i64>> -> tile<i64>
  %bytes = subi %b, %a : tile<i64>
  %eight = constant <i64: 8> : tile<i64>
  %n = divi %bytes, %eight signed rounding<zero> : tile<i64>
  %free = addi %a, %bytes : tile<i64>
  %to = int_to_ptr %free : tile<i64> -> tile<ptr<i64>>
  %t = store_ptr_tko weak %to, %eight : tile<ptr<i64>>, tile<i64> -> token
  %far = offset %p, %n : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  // fixed: %far = int_to_ptr %free : tile<i64> -> tile<ptr<i64>>
  %x, %t1 = load_ptr_tko weak %far token=%t : tile<ptr<i64>> -> tile<i64>, token  // fault: bounds: a read through a pointer to argument '0'
  return
} }
