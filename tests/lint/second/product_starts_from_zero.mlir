// A product of integers starts from zero.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %pn = broadcast %p1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %pn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %v, %t = load_ptr_tko weak %a : tile<16xptr<i32>> -> tile<16xi32>, token
  %r = reduce %v dim=0 identities=[0 : i32] : tile<16xi32> -> tile<i32>  // fault: lint
  // fixed: %r = reduce %v dim=0 identities=[1 : i32] : tile<16xi32> -> tile<i32>
  (%x: tile<i32>, %y: tile<i32>) {
    %m = muli %x, %y : tile<i32>
    yield %m : tile<i32>
  }
  %u = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }
