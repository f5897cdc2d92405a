// RUN: tilery opt --stats --passes fuse-fma %s
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b : tile<f32>
  %r = addf %m, %c : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = fma %arg1, %arg2, %arg3  : tile<f32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 2 changes
//          1  multiply_add
//          1  dead
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b : tile<f32>
  %r = addf %c, %m : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = fma %arg1, %arg2, %arg3  : tile<f32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 3 changes
//          1  product_first
//          1  multiply_add
//          1  dead
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b : tile<f32>
  %r = subf %m, %c : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = negf %arg3 : tile<f32>
//   %1 = fma %arg1, %arg2, %0  : tile<f32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 2 changes
//          1  multiply_subtract
//          1  dead
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b : tile<f32>
  %r = subf %c, %m : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = mulf %arg1, %arg2  : tile<f32>
//   %1 = subf %arg3, %0  : tile<f32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 0 changes
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b : tile<f32>
  %r = addf %m, %m : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = mulf %arg1, %arg2  : tile<f32>
//   %1 = addf %0, %0  : tile<f32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 0 changes
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b rounding<zero> : tile<f32>
  %r = addf %m, %c : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = mulf %arg1, %arg2 rounding<zero> : tile<f32>
//   %1 = addf %0, %arg3  : tile<f32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 0 changes
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b flush_to_zero : tile<f32>
  %r = addf %m, %c : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = mulf %arg1, %arg2  flush_to_zero : tile<f32>
//   %1 = addf %0, %arg3  : tile<f32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 0 changes
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b rounding<zero> flush_to_zero : tile<f32>
  %r = addf %m, %c rounding<zero> flush_to_zero : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = fma %arg1, %arg2, %arg3 rounding<zero> flush_to_zero : tile<f32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 2 changes
//          1  multiply_add
//          1  dead
// -----
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %m = mulf %a, %b : tile<f32>
  %n = mulf %b, %c : tile<f32>
  %s = addf %m, %c : tile<f32>
  %r = addf %s, %n : tile<f32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<f32>, %arg2: tile<f32>, %arg3: tile<f32>) {
//   %0 = fma %arg1, %arg2, %arg3  : tile<f32>
//   %1 = fma %arg2, %arg3, %0  : tile<f32>
//   %2 = store_ptr_tko weak %arg0, %1 : tile<ptr<f32>>, tile<f32> -> token
//   return
// }
// stderr:
// fuse-fma: 5 changes
//          2  multiply_add
//          2  dead
//          1  product_first
