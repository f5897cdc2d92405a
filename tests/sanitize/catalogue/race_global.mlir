// Every tile block writes a global.
// run: --grid 2
cuda_tile.module @m { global @count alignment = 16 <i32: [0, 0]> : tile<2xi32>
  entry @k() {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %p = get_global @count : tile<ptr<i32>>
  %q = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token  // fault: race: with this operation // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or use an atomic
  // fixed: %t = store_ptr_tko weak %q, %b : tile<ptr<i32>>, tile<i32> -> token
  return
} }
