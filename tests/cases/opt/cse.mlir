// RUN: tilery opt --stats --passes cse %s
// What is computed in a branch is known in that branch only; effects and assumptions stay.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = addi %x, %y : tile<i32>
  %b = addi %x, %y : tile<i32>
  %o = addi %x, %y overflow<no_signed_wrap> : tile<i32>
  if %c {
    %e = addi %x, %y : tile<i32>
    %f = muli %x, %y : tile<i32>
    print_tko "%d", %e : tile<i32> -> token
    print_tko "%d", %f : tile<i32> -> token
  } else {
    %f = muli %x, %y : tile<i32>
    print_tko "%d", %f : tile<i32> -> token
  }
  %p = assume div_by<2>, %a : tile<i32>
  %q = assume div_by<2>, %a : tile<i32>
  print_tko "%d", %b : tile<i32> -> token
  print_tko "%d", %o : tile<i32> -> token
  print_tko "%d", %p : tile<i32> -> token
  print_tko "%d", %q : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = addi %arg2, %arg3 : tile<i32>
//   %1 = addi %arg2, %arg3 overflow<no_signed_wrap> : tile<i32>
//   if %arg0 {
//     %6 = muli %arg2, %arg3 : tile<i32>
//     %7 = print_tko "%d", %0 : tile<i32> -> token
//     %8 = print_tko "%d", %6 : tile<i32> -> token
//   } else {
//     %6 = muli %arg2, %arg3 : tile<i32>
//     %7 = print_tko "%d", %6 : tile<i32> -> token
//   }
//   %assume = assume div_by<2>, %0 : tile<i32>
//   %assume_0 = assume div_by<2>, %0 : tile<i32>
//   %2 = print_tko "%d", %0 : tile<i32> -> token
//   %3 = print_tko "%d", %1 : tile<i32> -> token
//   %4 = print_tko "%d", %assume : tile<i32> -> token
//   %5 = print_tko "%d", %assume_0 : tile<i32> -> token
//   return
// }
// stderr:
// cse: 2 changes
//          2  cse
