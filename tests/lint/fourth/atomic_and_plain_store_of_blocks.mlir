// Every block counts in an element, to which every block also stores.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %t0 = make_token : token
  %old, %t = atomic_rmw_tko relaxed device %q, add, %c1 token = %t0 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %first = cmpi less_than %old, %c0, signed : tile<i32> -> tile<i1>
  %u = store_ptr_tko weak %q, %b token = %t : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  // fixed:
  return
} }
