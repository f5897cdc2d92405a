// RUN: tilery opt --stats --passes canonicalize %s
// Integers and floats alike, element by element.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %p = constant <i1: [true, false, true, false]> : tile<4xi1>
  %a = constant <i32: [0, 2, 4, 6]> : tile<4xi32>
  %b = constant <i32: 1> : tile<4xi32>
  %f = constant <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
  %g = constant <f32: -0.0> : tile<4xf32>
  %r = select %p, %a, %b : tile<4xi1>, tile<4xi32>
  %s = select %p, %f, %g : tile<4xi1>, tile<4xf32>
  print_tko "%d", %r : tile<4xi32> -> token
  %v = print_tko "%f", %s : tile<4xf32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_i32 = constant <i32: [0, 1, 4, 1]> : tile<4xi32>
//   %cst_f32 = constant <f32: [1.000000e+00, -0.000000e+00, 3.000000e+00, -0.000000e+00]> : tile<4xf32>
//   %0 = print_tko "%d", %cst_i32 : tile<4xi32> -> token
//   %1 = print_tko "%f", %cst_f32 : tile<4xf32> -> token
//   return
// }
// stderr:
// canonicalize: 7 changes
//          5  dead
//          2  select_constants
