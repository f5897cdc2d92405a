// A tile block publishes the address of its own memory, and another one reads from there.
// run: --grid 2 --arg box=zeros:i64:1 --arg flag=zeros:i32:1 --arg out=zeros:f32:1
cuda_tile.module @m { entry @k(%box: tile<ptr<i64>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %x = constant <f32: 2.5> : tile<f32>
  %mine = alloca num_elem = 1, alignment = 16 : tile<ptr<f32>>
  %t0 = store_ptr_tko weak %mine, %x : tile<ptr<f32>>, tile<f32> -> token
  %address = ptr_to_int %mine : tile<ptr<f32>> -> tile<i64>
  %producer = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %producer {
    %t1 = store_ptr_tko weak %box, %address token=%t0 : tile<ptr<i64>>, tile<i64> -> token
    %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %seen = loop : token {
      %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
      %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %set {
        break %ta : token
      }
      continue
    }
    %i, %t3 = load_ptr_tko weak %box token=%seen : tile<ptr<i64>> -> tile<i64>, token
    %there = int_to_ptr %i : tile<i64> -> tile<ptr<f32>>
    // fixed: %there = int_to_ptr %address : tile<i64> -> tile<ptr<f32>>
    %all = join_tokens %t0, %t3 : token
    %v, %t4 = load_ptr_tko weak %there token=%all : tile<ptr<f32>> -> tile<f32>, token  // fault: bounds: 'alloca' of another tile block
    %t5 = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
  }
  return
} }
