// The second tile block looks at the flag of the first one, with acquire, but goes on whether it is set or not.
// run: --grid 2 --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %is_first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  %is_second = cmpi equal %b, %c1, signed : tile<i32> -> tile<i1>
  if %is_first {
    %t1 = store_ptr_tko weak %data, %c1 : tile<ptr<i32>>, tile<i32> -> token  // other: race
    %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  }
  if %is_second {
    %f, %ready = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
    // fixed: %ready = loop : token { %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1> if %set { break %ta : token } continue }
    %v, %t1 = load_ptr_tko weak %data token=%ready : tile<ptr<i32>> -> tile<i32>, token  // fault: race
    %t2 = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }
