// The first tile block sets a flag and clears it again, whether the others have seen it or not.
// run: --grid 3 --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %is_first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %is_first {
    %t1 = store_ptr_tko weak %data, %c7 : tile<ptr<i32>>, tile<i32> -> token
    %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
    %t3 = store_ptr_tko release device %flag, %c0 token=%t2 : tile<ptr<i32>>, tile<i32> -> token
    // fixed:
  } else {
    %full = loop : token {  // fault: deadlock
      %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
      %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %set {
        break %ta : token
      }
      continue
    }
    %v, %t1 = load_ptr_tko weak %data token=%full : tile<ptr<i32>> -> tile<i32>, token
    %to = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t2 = store_ptr_tko weak %to, %v : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }
