// 65536 times 65536 is promised to fit.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<4xi32>
  %h = constant <i32: 65536> : tile<4xi32>
  %s = constant <i32: 3> : tile<4xi32>
  %v = muli %h, %h overflow<no_signed_wrap> : tile<4xi32>  // fault: lint
  // fixed: %v = muli %h, %s overflow<no_signed_wrap> : tile<4xi32>
  %a1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %a = offset %an, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %t = store_ptr_tko weak %a, %v : tile<4xptr<i32>>, tile<4xi32> -> token
  return
} }
