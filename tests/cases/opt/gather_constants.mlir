// RUN: tilery opt --stats --passes canonicalize %s
// Each constant once, at the front of the entry.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  print_tko "%d", %one : tile<i32> -> token
  %two = constant <i32: 2> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  if %c {
    %four = constant <i32: 4> : tile<i32>
    %too = constant <i32: 2> : tile<i32>
    print_tko "%d", %four : tile<i32> -> token
    print_tko "%d", %too : tile<i32> -> token
  }
  print_tko "%d", %two : tile<i32> -> token
  print_tko "%d", %three : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_4_i32 = constant <i32: 4> : tile<i32>
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %cst_2_i32 = constant <i32: 2> : tile<i32>
//   %cst_1_i32 = constant <i32: 1> : tile<i32>
//   %0 = print_tko "%d", %cst_1_i32 : tile<i32> -> token
//   if %arg0 {
//     %3 = print_tko "%d", %cst_4_i32 : tile<i32> -> token
//     %4 = print_tko "%d", %cst_2_i32 : tile<i32> -> token
//   }
//   %1 = print_tko "%d", %cst_2_i32 : tile<i32> -> token
//   %2 = print_tko "%d", %cst_3_i32 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 4 changes
//          4  constants
