// Row i of the left matrix is i, i + 1, i + 2, i + 3, column j of the right one 4j, 4j + 1, 4j + 2, 4j + 3. Their
// product is 6i + 16ij + 24j + 14, which tf32 and f32 hold exactly, so %out holds 1 afterwards. Launch with n = 0.
entry @tf32_product_of_four_steps(%out: tile<ptr<i32>>, %n: tile<i32>) {
  %rows = iota : tile<64xi32>
  %columns = iota : tile<16xi32>
  %steps = iota : tile<4xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %n4 = broadcast %n1 : tile<1xi32> -> tile<4xi32>
  %k = addi %steps, %n4 : tile<4xi32>
  %i1 = reshape %rows : tile<64xi32> -> tile<64x1xi32>
  %j1 = reshape %columns : tile<16xi32> -> tile<1x16xi32>
  %i4 = broadcast %i1 : tile<64x1xi32> -> tile<64x4xi32>
  %j4 = broadcast %j1 : tile<1x16xi32> -> tile<4x16xi32>
  %kl1 = reshape %k : tile<4xi32> -> tile<1x4xi32>
  %kl = broadcast %kl1 : tile<1x4xi32> -> tile<64x4xi32>
  %kr1 = reshape %k : tile<4xi32> -> tile<4x1xi32>
  %kr = broadcast %kr1 : tile<4x1xi32> -> tile<4x16xi32>
  %four = constant <i32: 4> : tile<4x16xi32>
  %left = addi %i4, %kl : tile<64x4xi32>
  %j44 = muli %j4, %four : tile<4x16xi32>
  %right = addi %j44, %kr : tile<4x16xi32>
  %l = itof %left signed : tile<64x4xi32> -> tile<64x4xtf32>
  %r = itof %right signed : tile<4x16xi32> -> tile<4x16xtf32>
  %zero = constant <f32: 0.0> : tile<64x16xf32>
  %product = mmaf %l, %r, %zero : tile<64x4xtf32>, tile<4x16xtf32>, tile<64x16xf32>
  %found = ftoi %product signed : tile<64x16xf32> -> tile<64x16xi32>
  %i = broadcast %i1 : tile<64x1xi32> -> tile<64x16xi32>
  %j = broadcast %j1 : tile<1x16xi32> -> tile<64x16xi32>
  %c6 = constant <i32: 6> : tile<64x16xi32>
  %c14 = constant <i32: 14> : tile<64x16xi32>
  %c16 = constant <i32: 16> : tile<64x16xi32>
  %c24 = constant <i32: 24> : tile<64x16xi32>
  %ij = muli %i, %j : tile<64x16xi32>
  %p0 = muli %i, %c6 : tile<64x16xi32>
  %p1 = muli %ij, %c16 : tile<64x16xi32>
  %p2 = muli %j, %c24 : tile<64x16xi32>
  %s0 = addi %p0, %p1 : tile<64x16xi32>
  %s1 = addi %s0, %p2 : tile<64x16xi32>
  %wanted = addi %s1, %c14 : tile<64x16xi32>
  %same = cmpi equal %found, %wanted, signed : tile<64x16xi32> -> tile<64x16xi1>
  %flags = exti %same unsigned : tile<64x16xi1> -> tile<64x16xi32>
  %flat = reshape %flags : tile<64x16xi32> -> tile<1024xi32>
  %all = reduce %flat dim=0 identities=[1 : i32] : tile<1024xi32> -> tile<i32>
  (%a: tile<i32>, %b: tile<i32>) {
    %least = mini %a, %b signed : tile<i32>
    yield %least : tile<i32>
  }
  %t = store_ptr_tko weak %out, %all : tile<ptr<i32>>, tile<i32> -> token
  return
}
