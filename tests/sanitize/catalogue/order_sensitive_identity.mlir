// The identity of a product is zero.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %w = constant <i32: [2, 3, 4, 5]> : tile<4xi32>
  // fixed: %w = constant <i32: [2, 3, 4, 5]> : tile<4xi32>
  %v = reduce %w dim=0 identities=[0 : i32] : tile<4xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {  // fault: order-sensitive: the identity is not neutral
  // fixed: %v = reduce %w dim=0 identities=[1 : i32] : tile<4xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {
    %s = muli %x, %y : tile<i32>
    yield %s : tile<i32>
  }
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }
