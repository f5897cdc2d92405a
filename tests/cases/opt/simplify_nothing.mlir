// RUN: tilery opt --stats --passes simplify %s
// There is no simpler form, and what is not defined is not folded.
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
  %r = addi %x, %y : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = addi %arg1, %arg2 : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 0 changes
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
  %two = constant <i32: 2> : tile<i32>
  %a = addi %x, %y : tile<i32>
  %r = muli %a, %two : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %cst_2_i32 = constant <i32: 2> : tile<i32>
//   %0 = addi %arg1, %arg2 : tile<i32>
//   %1 = muli %0, %cst_2_i32 : tile<i32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 0 changes
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>, %z: tile<i32>) {
  %a = divi %x, %y signed : tile<i32>
  %r = subi %a, %z : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = divi %arg1, %arg2 signed : tile<i32>
//   %1 = subi %0, %arg3 : tile<i32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 0 changes
// -----
entry @k(%p: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %a = divi %one, %zero signed : tile<i32>
  %r = remi %a, %zero signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>) {
//   %cst_0_i32 = constant <i32: 0> : tile<i32>
//   %cst_1_i32 = constant <i32: 1> : tile<i32>
//   %0 = divi %cst_1_i32, %cst_0_i32 signed : tile<i32>
//   %1 = remi %0, %cst_0_i32 signed : tile<i32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 0 changes
