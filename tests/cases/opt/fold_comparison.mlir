// RUN: tilery opt --stats --passes fold-int %s
// The sign of an i1 is not for us to say.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -1> : tile<i8>
  %b = constant <i8: 5> : tile<i8>
  %t = constant <i1: true> : tile<i1>
  %f = constant <i1: false> : tile<i1>
  %r0 = cmpi less_than %a, %b, signed : tile<i8> -> tile<i1>
  print_tko "%d", %r0 : tile<i1> -> token
  %r1 = cmpi less_than %a, %b, unsigned : tile<i8> -> tile<i1>
  print_tko "%d", %r1 : tile<i1> -> token
  %r2 = cmpi greater_than_or_equal %a, %b, signed : tile<i8> -> tile<i1>
  print_tko "%d", %r2 : tile<i1> -> token
  %r3 = cmpi greater_than_or_equal %a, %b, unsigned : tile<i8> -> tile<i1>
  print_tko "%d", %r3 : tile<i1> -> token
  %r4 = cmpi equal %a, %b, signed : tile<i8> -> tile<i1>
  print_tko "%d", %r4 : tile<i1> -> token
  %r5 = cmpi equal %a, %b, unsigned : tile<i8> -> tile<i1>
  print_tko "%d", %r5 : tile<i1> -> token
  %r6 = cmpi not_equal %a, %b, signed : tile<i8> -> tile<i1>
  print_tko "%d", %r6 : tile<i1> -> token
  %r7 = cmpi not_equal %a, %b, unsigned : tile<i8> -> tile<i1>
  print_tko "%d", %r7 : tile<i1> -> token
  %r8 = cmpi less_than %t, %f, signed : tile<i1> -> tile<i1>
  print_tko "%d", %r8 : tile<i1> -> token
  %r9 = cmpi equal %t, %f, signed : tile<i1> -> tile<i1>
  print_tko "%d", %r9 : tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %false = constant <i1: false> : tile<i1>
//   %true_0 = constant <i1: true> : tile<i1>
//   %0 = print_tko "%d", %true_0 : tile<i1> -> token
//   %false_1 = constant <i1: false> : tile<i1>
//   %1 = print_tko "%d", %false_1 : tile<i1> -> token
//   %false_2 = constant <i1: false> : tile<i1>
//   %2 = print_tko "%d", %false_2 : tile<i1> -> token
//   %true_3 = constant <i1: true> : tile<i1>
//   %3 = print_tko "%d", %true_3 : tile<i1> -> token
//   %false_4 = constant <i1: false> : tile<i1>
//   %4 = print_tko "%d", %false_4 : tile<i1> -> token
//   %false_5 = constant <i1: false> : tile<i1>
//   %5 = print_tko "%d", %false_5 : tile<i1> -> token
//   %true_6 = constant <i1: true> : tile<i1>
//   %6 = print_tko "%d", %true_6 : tile<i1> -> token
//   %true_7 = constant <i1: true> : tile<i1>
//   %7 = print_tko "%d", %true_7 : tile<i1> -> token
//   %8 = cmpi less_than %true, %false, signed : tile<i1> -> tile<i1>
//   %9 = print_tko "%d", %8 : tile<i1> -> token
//   %false_8 = constant <i1: false> : tile<i1>
//   %10 = print_tko "%d", %false_8 : tile<i1> -> token
//   return
// }
// stderr:
// fold-int: 11 changes
//          9  fold_comparison
//          2  dead
