// Each block waits for a flag that it sets only afterwards.
cuda_tile.module @m { entry @k(%flag: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %f = offset %flag, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %tf = make_token : token
  // fixed: %tf = store_ptr_tko release device %f, %c1 : tile<ptr<i32>>, tile<i32> -> token
  %seen = loop : token {  // fault: lint
    %v, %ta = load_ptr_tko acquire device %f token = %tf : tile<ptr<i32>> -> tile<i32>, token
    %set = cmpi equal %v, %c1, signed : tile<i32> -> tile<i1>
    if %set {
      break %ta : token
    }
    continue
  }
  %t1 = store_ptr_tko release device %f, %c1 token = %seen : tile<ptr<i32>>, tile<i32> -> token
  return
} }
