// RUN: tilery opt --stats --passes canonicalize %s
// Only one that follows an equal one directly.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = assume div_by<16>, %x : tile<i32>
  %b = assume div_by<16>, %a : tile<i32>
  %e = assume bounded<0, ?>, %b : tile<i32>
  %f = assume div_by<16>, %e : tile<i32>
  print_tko "%d", %f : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %assume = assume div_by<16>, %arg2 : tile<i32>
//   %assume_assume = assume bounded<0, ?>, %assume : tile<i32>
//   %assume_assume_assume = assume div_by<16>, %assume_assume : tile<i32>
//   %0 = print_tko "%d", %assume_assume_assume : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  assume_twice
