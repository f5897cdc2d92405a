// A histogram counts with a load and a store instead of an atomic operation.
// run: --grid 4 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %bin = remi %b, %two signed : tile<i32>
  %q = offset %p, %bin : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token  // other: race
  // fixed: %v, %t = atomic_rmw_tko relaxed device %q, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %next = addi %v, %one : tile<i32>
  %t1 = store_ptr_tko weak %q, %next token=%t : tile<ptr<i32>>, tile<i32> -> token  // fault: race // cause: tile blocks (0, 0, 0) and (2, 0, 0) do not synchronize: give each its own elements, or use an atomic
  // fixed:
  return
} }
