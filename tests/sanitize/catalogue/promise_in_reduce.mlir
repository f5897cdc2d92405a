// A sum inside a reduction overflows.
// run: --arg rand:i32:8 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %w = constant <i32: 1000000000> : tile<8xi32>
  // fixed: %w = constant <i32: 100000000> : tile<8xi32>
  %v = reduce %w dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {
    %s = addi %x, %y overflow<no_signed_wrap> : tile<i32>  // fault: promise: the result wraps
    yield %s : tile<i32>
  }
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }
