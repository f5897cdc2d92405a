// Two elements of one store have the same address.
// run: --arg zeros:i32:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %i = constant <i32: [0, 1, 2, 2]> : tile<4xi32>
  // fixed: %i = constant <i32: [0, 1, 2, 3]> : tile<4xi32>
  %q1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %q = offset %qn, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %t = store_ptr_tko weak %q, %i : tile<4xptr<i32>>, tile<4xi32> -> token  // fault: race: two elements of one weak store
  return
} }
