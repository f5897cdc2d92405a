// Each iteration writes a scratch element and reads it; the next one writes again without waiting for the read.
// run: --grid 2 --arg zeros:i32:8
cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %first = muli %b, %c4 : tile<i32>
  %scratch = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
  %start = make_token : token
  %end = for %i in (%c0 to %c4, step %c1) : tile<i32> iter_values(%before = %start) -> (token) {
    %t1 = store_ptr_tko weak %scratch, %i token=%before : tile<ptr<i32>>, tile<i32> -> token  // fault: race: no token orders
    %v, %t2 = load_ptr_tko weak %scratch token=%t1 : tile<ptr<i32>> -> tile<i32>, token  // other: race
    %at = addi %first, %i : tile<i32>
    %to = offset %out, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t3 = store_ptr_tko weak %to, %v : tile<ptr<i32>>, tile<i32> -> token
    continue %t1 : token
    // fixed: continue %t2 : token
  }
  return
} }
