// Pairs of 32 bits are loaded from scratch memory that is aligned to 4 bytes.
cuda_tile.module @m { entry @k(%q: tile<ptr<i64>>) {
  %x = constant <i32: 7> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  // fixed: %one = constant <i32: 2> : tile<i32>
  %g = alloca num_elem = 4, alignment = 8 : tile<ptr<i32>>
  %a = offset %g, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %w = ptr_to_ptr %a : tile<ptr<i32>> -> tile<ptr<i64>>
  %v = constant <i64: 5> : tile<i64>
  %t = store_ptr_tko weak %w, %v : tile<ptr<i64>>, tile<i64> -> token  // fault: lint
  %r, %t1 = load_ptr_tko weak %w token = %t : tile<ptr<i64>> -> tile<i64>, token
  %u = store_ptr_tko weak %q, %r : tile<ptr<i64>>, tile<i64> -> token
  return
} }
