// An address computed as an integer is odd.
// run: --arg zeros:i16:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i16>>) {
  %n = ptr_to_int %p : tile<ptr<i16>> -> tile<i64>
  %three = constant <i64: 3> : tile<i64>
  // fixed: %three = constant <i64: 4> : tile<i64>
  %m = addi %n, %three : tile<i64>
  %a = int_to_ptr %m : tile<i64> -> tile<ptr<i16>>
  %x = constant <i16: 7> : tile<i16>
  %t1 = store_ptr_tko weak %a, %x : tile<ptr<i16>>, tile<i16> -> token  // fault: alignment: not a multiple of 2
  return
} }
