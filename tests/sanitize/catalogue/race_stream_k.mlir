// The tile block that owns an output tile waits for the part of its neighbour, but without an acquire.
// run: --grid 4 --arg zeros:f32:16 --arg zeros:i32:4 --arg zeros:f32:8
cuda_tile.module @m { entry @k(%part: tile<ptr<f32>>, %ready: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %i = iota : tile<4xi32>
  %x = constant <f32: 1.5> : tile<4xf32>
  %odd = remi %b, %c2 signed : tile<i32>
  %helps = cmpi equal %odd, %c1, signed : tile<i32> -> tile<i1>
  %owner = divi %b, %c2 signed : tile<i32>
  %flag = offset %ready, %owner : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %base = muli %owner, %four : tile<i32>
  %from = offset %part, %base : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %to = offset %out, %base : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %src1 = reshape %from : tile<ptr<f32>> -> tile<1xptr<f32>>
  %srcn = broadcast %src1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %src = offset %srcn, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %dst1 = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
  %dstn = broadcast %dst1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %dst = offset %dstn, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  if %helps {
    %t1 = store_ptr_tko weak %src, %x : tile<4xptr<f32>>, tile<4xf32> -> token  // other: race
    %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %seen = loop : token {
      %f, %ta = load_ptr_tko relaxed device %flag : tile<ptr<i32>> -> tile<i32>, token
      // fixed: %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
      %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %set {
        break %ta : token
      }
      continue
    }
    %v, %t3 = load_ptr_tko weak %src token=%seen : tile<4xptr<f32>> -> tile<4xf32>, token  // fault: race: two tile blocks // cause: which is read by load_ptr_tko, which is relaxed and must acquire
    %s = addf %v, %x : tile<4xf32>
    %t4 = store_ptr_tko weak %dst, %s : tile<4xptr<f32>>, tile<4xf32> -> token
  }
  return
} }
