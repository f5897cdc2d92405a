// Two stages of scratch memory take turns, but the next number is fetched into the stage that is read just then.
// run: --grid 2 --arg arange:i32:8 --arg zeros:i32:6
cuda_tile.module @m { entry @k(%x: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %c3 = constant <i32: 3> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %row = muli %b, %c4 : tile<i32>
  %place = muli %b, %c3 : tile<i32>
  %stages = alloca num_elem = 2, alignment = 4 : tile<ptr<i32>>
  %a0 = offset %x, %row : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v0, %l0 = load_ptr_tko weak %a0 : tile<ptr<i32>> -> tile<i32>, token
  %filled = store_ptr_tko weak %stages, %v0 token=%l0 : tile<ptr<i32>>, tile<i32> -> token
  %end = for %i in (%c0 to %c3, step %c1) : tile<i32> iter_values(%ready = %filled) -> (token) {
    %ahead = addi %i, %c2 : tile<i32>
    // fixed: %ahead = addi %i, %c1 : tile<i32>
    %now = remi %i, %c2 signed : tile<i32>
    %next = remi %ahead, %c2 signed : tile<i32>
    %from = offset %stages, %now : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %into = offset %stages, %next : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %n = addi %i, %c1 : tile<i32>
    %an = offset %a0, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %vn, %ln = load_ptr_tko weak %an : tile<ptr<i32>> -> tile<i32>, token
    %v, %t1 = load_ptr_tko weak %from token=%ready : tile<ptr<i32>> -> tile<i32>, token  // other: race
    %t2 = store_ptr_tko weak %into, %vn token=%ready : tile<ptr<i32>>, tile<i32> -> token  // fault: race: no token orders
    %at = addi %place, %i : tile<i32>
    %to = offset %out, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t3 = store_ptr_tko weak %to, %v : tile<ptr<i32>>, tile<i32> -> token
    %both = join_tokens %t1, %t2 : token
    continue %both : token
  }
  return
} }
