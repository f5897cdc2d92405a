// Positions are found by adding up lengths of four in numbers of eight bits, where the sum of 64 of them does not fit.
// run: --grid 2 --arg zeros:i32:512
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c256 = constant <i32: 256> : tile<i32>
  %mine = muli %b, %c256 : tile<i32>
  %i = iota : tile<64xi32>
  %length = constant <i8: 4> : tile<64xi8>
  // fixed: %length = constant <i8: 1> : tile<64xi8>
  %sums = scan %length dim=0 reverse=false identities=[0 : i8] : tile<64xi8> -> tile<64xi8> (%a: tile<i8>, %e: tile<i8>) {
    %s = addi %a, %e : tile<i8>
    yield %s : tile<i8>
  }
  %at = exti %sums signed : tile<64xi8> -> tile<64xi32>
  %part = offset %q, %mine : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %q1 = reshape %part : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %to = offset %qn, %at : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %t = store_ptr_tko weak %to, %i : tile<64xptr<i32>>, tile<64xi32> -> token  // fault: bounds
  return
} }
