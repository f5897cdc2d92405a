// The parts of all blocks are added by every block, without waiting for them.
cuda_tile.module @m { entry @k(%part: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %mine = offset %part, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %mine, %b : tile<ptr<i32>>, tile<i32> -> token
  %one = addi %b, %c1 : tile<i32>
  %s = for %i in (%c0 to %gx, step %c1) : tile<i32> iter_values(%s0 = %c0) -> (tile<i32>) {
  // fixed: %s = for %i in (%b to %one, step %c1) : tile<i32> iter_values(%s0 = %c0) -> (tile<i32>) {
    %a = offset %part, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t1 = load_ptr_tko weak %a token = %t : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
    %s1 = addi %s0, %v : tile<i32>
    continue %s1 : tile<i32>
  }
  %d = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %d, %s : tile<ptr<i32>>, tile<i32> -> token
  return
} }
