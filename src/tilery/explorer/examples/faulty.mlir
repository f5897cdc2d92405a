// Faulty: the last tile block accesses an element beyond the end of %x, and all tile blocks write element 0 of %flag.
entry @faulty(%x: tile<ptr<f32>>, %flag: tile<ptr<i32>>) {
  %block, %y, %z = get_tile_block_id : tile<i32>
  %width = constant <i32: 64> : tile<i32>
  %start = muli %block, %width : tile<i32>
  %next = constant <i32: 1> : tile<i32>
  %first = addi %start, %next : tile<i32>
  %shifted = offset %x, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %one = reshape %shifted : tile<ptr<f32>> -> tile<1xptr<f32>>
  %many = broadcast %one : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %lanes = iota : tile<64xi32>
  %at = offset %many, %lanes : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %old, %t0 = load_ptr_tko weak %at : tile<64xptr<f32>> -> tile<64xf32>, token
  %root = sqrt %old : tile<64xf32>
  %t1 = store_ptr_tko weak %at, %root token = %t0 : tile<64xptr<f32>>, tile<64xf32> -> token
  %t2 = store_ptr_tko weak %flag, %block : tile<ptr<i32>>, tile<i32> -> token
  return
}
