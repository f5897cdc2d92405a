// A pointer to one global is moved to another one.
// run:
cuda_tile.module @m {
  global @a <i64: [1, 2]> : tile<2xi64>
  global @b <i64: [3, 4]> : tile<2xi64>
  entry @k() {
  %p = get_global @a : tile<ptr<i64>>
  %q = get_global @b : tile<ptr<i64>>
  %a = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
  %b = ptr_to_int %q : tile<ptr<i64>> -> tile<i64>
  %bytes = subi %b, %a : tile<i64>
  %eight = constant <i64: 8> : tile<i64>
  %n = divi %bytes, %eight signed rounding<zero> : tile<i64>
  %far = offset %p, %n : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  // fixed: %far = int_to_ptr %b : tile<i64> -> tile<ptr<i64>>
  %x, %t = load_ptr_tko weak %far : tile<ptr<i64>> -> tile<i64>, token  // fault: bounds: global @a
  return
} }
