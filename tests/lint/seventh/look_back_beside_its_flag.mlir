// A scan in one pass: each tile block waits for the flag of the one before it, but reads its sum independently of that.
// run: --grid 4 --arg zeros:i32:4 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%flags: tile<ptr<i32>>, %sums: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %start = make_token : token
  %my_flag = offset %flags, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %my_sum = offset %sums, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %is_first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  %before = if %is_first -> (tile<i32>) {
    yield %c0 : tile<i32>
  } else {
    %back = subi %b, %c1 : tile<i32>
    %flag = offset %flags, %back : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %at = offset %sums, %back : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %seen = loop : token {
      %f, %ta = load_ptr_tko acquire device %flag token=%start : tile<ptr<i32>> -> tile<i32>, token
      %is = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %is {
        break %ta : token
      }
      continue
    }
    %v, %tv = load_ptr_tko weak %at token=%start : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
    // fixed: %v, %tv = load_ptr_tko weak %at token=%seen : tile<ptr<i32>> -> tile<i32>, token
    yield %v : tile<i32>
  }
  %sum = addi %before, %c1 : tile<i32>
  %t1 = store_ptr_tko weak %my_sum, %sum : tile<ptr<i32>>, tile<i32> -> token  // other: race
  %t2 = store_ptr_tko release device %my_flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  return
} }
