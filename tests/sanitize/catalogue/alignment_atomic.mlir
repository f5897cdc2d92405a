// An atomic operation on 64 bits is only aligned to 32.
// run: --arg zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  // fixed: %one = constant <i32: 2> : tile<i32>
  %m = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %a = ptr_to_ptr %m : tile<ptr<i32>> -> tile<ptr<i64>>
  %x = constant <i64: 7> : tile<i64>
  %v, %t = atomic_rmw_tko relaxed device %a, add, %x : tile<ptr<i64>>, tile<i64> -> tile<i64>, token  // fault: alignment: not a multiple of 8
  return
} }
