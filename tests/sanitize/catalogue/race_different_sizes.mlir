// Atomic operations of four and of eight bytes share memory.
// run: --grid 2 --arg zeros:i64:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i64>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %wide = constant <i64: 1> : tile<i64>
  %half = ptr_to_ptr %p : tile<ptr<i64>> -> tile<ptr<i32>>
  %first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %first {
    %v, %t = atomic_rmw_tko relaxed device %p, add, %wide : tile<ptr<i64>>, tile<i64> -> tile<i64>, token  // other: race
  } else {
    %v, %t = atomic_rmw_tko relaxed device %half, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // fault: race: two tile blocks // cause: both are strong, but not of the same size: 8 and 4 bytes
    // fixed: %v, %t = atomic_rmw_tko relaxed device %p, add, %wide : tile<ptr<i64>>, tile<i64> -> tile<i64>, token
  }
  return
} }
