// The flag is set by a weak store.
// run: --grid 2 --arg zeros:f32:1 --arg zeros:i32:1 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %x = constant <f32: 2.5> : tile<f32>
  %producer = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %producer {
    %t1 = store_ptr_tko weak %data, %x : tile<ptr<f32>>, tile<f32> -> token  // other: race
    %t2 = store_ptr_tko weak %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token  // other: race
    // fixed: %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %seen = loop : token {
      %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks // cause: store_ptr_tko is weak; it would not race if it were strong and of the same size
      %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %set {
        break %ta : token
      }
      continue
    }
    %v, %t3 = load_ptr_tko weak %data token=%seen : tile<ptr<f32>> -> tile<f32>, token  // fault: race // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or let the first release and the second acquire
    %t4 = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
  }
  return
} }
