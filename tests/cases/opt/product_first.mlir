// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%f: tile<f32>, %g: tile<f32>) {
  %p = mulf %f, %g : tile<f32>
  %r = addf %f, %p rounding<zero> flush_to_zero : tile<f32>
  %s = addf %p, %f : tile<f32>
  %t = print_tko "%f %f", %r, %s : tile<f32>, tile<f32> -> token
  return
}
// =>
// entry @k(%arg0: tile<f32>, %arg1: tile<f32>) {
//   %0 = mulf %arg0, %arg1  : tile<f32>
//   %1 = addf %0, %arg0 rounding<zero> flush_to_zero : tile<f32>
//   %2 = addf %0, %arg0  : tile<f32>
//   %3 = print_tko "%f %f", %1, %2 : tile<f32>, tile<f32> -> token
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  product_first
