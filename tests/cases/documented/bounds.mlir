// RUN: tilery dis --input documented %s
// Strict bounds leave their ends out; broken ones are refused.
entry @k(%n: tile<i32>) {
  %a = assume bounded<0, 8, strict>, %n : tile<i32>
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %assume = assume bounded<1, 7>, %arg0 : tile<i32>
//   return
// }
// -----
entry @k(%n: tile<i32>) {
  %a = assume bounded<3, 4, strict>, %n : tile<i32>
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %assume = assume bounded<3, 4>, %arg0 : tile<i32>
//   return
// }
// -----
entry @k(%n: tile<i32>) {
  %a = assume bounded<0, 8, min>, %n : tile<i32>
  return
}
// =>
// stderr:
// in.mlir:2:32: error: expected '='
//       %a = assume bounded<0, 8, min>, %n : tile<i32>
//                                    ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// -----
entry @k(%n: tile<i32>) {
  %a = assume bounded<0, 8, min = >, %n : tile<i32>
  return
}
// =>
// stderr:
// in.mlir:2:34: error: expected an integer
//       %a = assume bounded<0, 8, min = >, %n : tile<i32>
//                                      ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// -----
entry @k(%n: tile<i32>) {
  %a = assume bounded<0, 8, most = 3>, %n : tile<i32>
  return
}
// =>
// stderr:
// in.mlir:2:28: error: expected 'min', 'max' or 'strict'
//       %a = assume bounded<0, 8, most = 3>, %n : tile<i32>
//                                ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// -----
entry @k(%n: tile<i32>) {
  %a = assume bounded<0, 8, strict strict>, %n : tile<i32>
  return
}
// =>
// stderr:
// in.mlir:2:35: error: expected '>'
//       %a = assume bounded<0, 8, strict strict>, %n : tile<i32>
//                                       ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// -----
entry @k(%n: tile<i32>) {
  %a = assume bounded<0, 8, >, %n : tile<i32>
  return
}
// =>
// stderr:
// in.mlir:2:28: error: expected 'min', 'max' or 'strict'
//       %a = assume bounded<0, 8, >, %n : tile<i32>
//                                ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
