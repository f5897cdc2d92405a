// RUN: tilery opt --stats --passes simplify %s
// div_trivial
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %r = divi %x, %one signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_div_trivial
//          1  dead
// -----
// div_constants
entry @k(%p: tile<ptr<i32>>) {
  %two = constant <i32: 2> : tile<i32>
  %seven = constant <i32: 7> : tile<i32>
  %r = divi %seven, %two unsigned : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>) {
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %0 = store_ptr_tko weak %arg0, %cst_3_i32 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_div_constants
// -----
// rem_trivial
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %r = remi %x, %one signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %cst_0_i32 = constant <i32: 0> : tile<i32>
//   %0 = store_ptr_tko weak %arg0, %cst_0_i32 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_rem_trivial
//          1  dead
// -----
// rem_constants
entry @k(%p: tile<ptr<i32>>) {
  %two = constant <i32: 2> : tile<i32>
  %seven = constant <i32: 7> : tile<i32>
  %r = remi %seven, %two signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>) {
//   %cst_1_i32 = constant <i32: 1> : tile<i32>
//   %0 = store_ptr_tko weak %arg0, %cst_1_i32 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_rem_constants
// -----
// rem_rem
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
  %a = remi %x, %y signed : tile<i32>
  %r = remi %a, %y signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = remi %arg1, %arg2 signed : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 1 changes
//          1  simplify_rem_rem
// -----
// shr_trivial
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %r = shri %x, %zero signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_shr_trivial
//          1  dead
// -----
// shr_constants
entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %seven = constant <i32: 7> : tile<i32>
  %r = shri %seven, %one unsigned : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>) {
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %0 = store_ptr_tko weak %arg0, %cst_3_i32 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_shr_constants
// -----
// shr_shr
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %a = shri %x, %two signed : tile<i32>
  %r = shri %a, %one signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %0 = shri %arg1, %cst_3_i32 signed : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          3  dead
//          1  simplify_shr_shr
// -----
// abs_abs
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %a = absi %x : tile<i32>
  %r = absi %a : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %0 = absi %arg1 : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 1 changes
//          1  simplify_abs_abs
// -----
// abs_negated
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %a = negi %x : tile<i32>
  %r = absi %a : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %0 = absi %arg1 : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_abs_negated
//          1  dead
// -----
// abs_constant
entry @k(%p: tile<ptr<i32>>) {
  %seven = constant <i32: 7> : tile<i32>
  %r = absi %seven : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>) {
//   %cst_7_i32 = constant <i32: 7> : tile<i32>
//   %0 = store_ptr_tko weak %arg0, %cst_7_i32 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 1 changes
//          1  simplify_abs_constant
// -----
// absorb
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
  %a = mini %x, %y signed : tile<i32>
  %r = maxi %x, %a signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_absorb
//          1  dead
// -----
// first_left
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>, %y: tile<i32>) {
  %a = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
  %b = cmpi greater_than %y, %x, signed : tile<i32> -> tile<i1>
  %r = andi %a, %b : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = cmpi less_than %arg1, %arg2, signed : tile<i32> -> tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_first_left
//          1  simplify_idempotent
// -----
// join_comparisons
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>, %y: tile<i32>) {
  %a = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
  %b = cmpi equal %y, %x, signed : tile<i32> -> tile<i1>
  %r = ori %a, %b : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = cmpi less_than_or_equal %arg1, %arg2, signed : tile<i32> -> tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          2  dead
//          1  simplify_not_compare
//          1  simplify_join_comparisons
// -----
// join_ranges
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>) {
  %three = constant <i32: 3> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %a = cmpi less_than %x, %five, signed : tile<i32> -> tile<i1>
  %b = cmpi less_than %x, %three, signed : tile<i32> -> tile<i1>
  %r = andi %a, %b : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>) {
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %0 = cmpi less_than %arg1, %cst_3_i32, signed : tile<i32> -> tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 5 changes
//          2  dead
//          1  simplify_strict_bound
//          1  simplify_not_compare
//          1  simplify_join_ranges
// -----
// join_ranges
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>) {
  %three = constant <i32: 3> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %a = cmpi less_than %x, %five, signed : tile<i32> -> tile<i1>
  %b = cmpi greater_than %x, %three, signed : tile<i32> -> tile<i1>
  %r = ori %a, %b : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %0 = store_ptr_tko weak %arg0, %true : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 7 changes
//          4  dead
//          1  simplify_strict_bound
//          1  simplify_not_compare
//          1  simplify_join_ranges
// -----
// join_ranges
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>) {
  %three = constant <i32: 3> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %a = cmpi less_than %x, %three, signed : tile<i32> -> tile<i1>
  %b = cmpi greater_than %x, %five, signed : tile<i32> -> tile<i1>
  %r = andi %a, %b : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>) {
//   %false = constant <i1: false> : tile<i1>
//   %0 = store_ptr_tko weak %arg0, %false : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 7 changes
//          4  dead
//          1  simplify_strict_bound
//          1  simplify_not_compare
//          1  simplify_join_ranges
