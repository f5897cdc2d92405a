// Squares of lanes are promised to fit eight bits.
// run: --arg zeros:i8:16
cuda_tile.module @m { entry @k(%q: tile<ptr<i8>>) {
  %i = iota : tile<16xi32>
  %s = muli %i, %i : tile<16xi32>
  %r = trunci %s overflow<no_signed_wrap> : tile<16xi32> -> tile<16xi8>  // fault: promise: the result wraps
  // fixed: %r = trunci %s : tile<16xi32> -> tile<16xi8>
  %a_1 = reshape %q : tile<ptr<i8>> -> tile<1xptr<i8>>
  %a_n = broadcast %a_1 : tile<1xptr<i8>> -> tile<16xptr<i8>>
  %a = offset %a_n, %i : tile<16xptr<i8>>, tile<16xi32> -> tile<16xptr<i8>>
  %t = store_ptr_tko weak %a, %r : tile<16xptr<i8>>, tile<16xi8> -> token
  return
} }
