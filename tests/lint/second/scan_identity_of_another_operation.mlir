// A running minimum has the identity of a sum.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %pn = broadcast %p1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %pn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %v, %t = load_ptr_tko weak %a : tile<16xptr<i32>> -> tile<16xi32>, token
  %r = scan %v dim=0 reverse=false identities=[0 : i32] : tile<16xi32> -> tile<16xi32>  // fault: lint
  // fixed: %r = scan %v dim=0 reverse=false identities=[2147483647 : i32] : tile<16xi32> -> tile<16xi32>
  (%x: tile<i32>, %y: tile<i32>) {
    %m = mini %x, %y signed : tile<i32>
    yield %m : tile<i32>
  }
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %b = offset %qn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %u = store_ptr_tko weak %b, %r : tile<16xptr<i32>>, tile<16xi32> -> token
  return
} }
