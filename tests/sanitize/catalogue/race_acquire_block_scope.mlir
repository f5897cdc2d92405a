// The acquire of a flag has the scope of its own tile block.
// run: --grid 2 --arg zeros:f32:1 --arg zeros:i32:1 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %x = constant <f32: 2.5> : tile<f32>
  %producer = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %producer {
    %t1 = store_ptr_tko weak %data, %x : tile<ptr<f32>>, tile<f32> -> token  // other: race
    %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %seen = loop : token {
      %f, %ta = load_ptr_tko acquire tl_blk %flag : tile<ptr<i32>> -> tile<i32>, token  // fault: race // cause: the scope tl_blk of load_ptr_tko does not reach tile block (0, 0, 0)
      // fixed: %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
      %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %set {
        break %ta : token
      }
      continue
    }
    %v, %t3 = load_ptr_tko weak %data token=%seen : tile<ptr<f32>> -> tile<f32>, token  // fault: race // cause: whose scope tl_blk does not reach
    %t4 = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
  }
  return
} }
