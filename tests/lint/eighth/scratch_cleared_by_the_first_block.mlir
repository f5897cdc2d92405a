// Scratch memory is cleared by the first tile block only, as if it were shared; each tile block has its own.
// run: --grid 2 --arg ones:f32:2
cuda_tile.module @m { entry @k(%x: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %nothing = constant <f32: 0.0> : tile<f32>
  %scratch = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
  %start = make_token : token
  %is_first = cmpi greater_than_or_equal %c0, %b, signed : tile<i32> -> tile<i1>
  // fixed: %is_first = cmpi less_than_or_equal %c0, %b, signed : tile<i32> -> tile<i1>
  %cleared = if %is_first -> (token) {
    %t = store_ptr_tko weak %scratch, %nothing token=%start : tile<ptr<f32>>, tile<f32> -> token
    yield %t : token
  } else {
    yield %start : token
  }
  %a = offset %x, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t1 = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
  %s, %t2 = load_ptr_tko weak %scratch token=%cleared : tile<ptr<f32>> -> tile<f32>, token
  %sum = addf %s, %v : tile<f32>
  %t3 = store_ptr_tko weak %a, %sum token=%t1 : tile<ptr<f32>>, tile<f32> -> token  // fault: uninit
  return
} }
