// RUN: tilery opt --stats --passes simplify %s
entry @k(%p: tile<ptr<i1>>, %c: tile<i1>) {
  %true = constant <i1: true> : tile<i1>
  %a = xori %c, %true : tile<i1>
  %r = xori %a, %true : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i1>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_xor_not
// -----
entry @k(%p: tile<ptr<i1>>, %c: tile<i1>, %d: tile<i1>) {
  %true = constant <i1: true> : tile<i1>
  %a = xori %c, %true : tile<i1>
  %b = xori %d, %true : tile<i1>
  %e = andi %a, %b : tile<i1>
  %r = xori %e, %true : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i1>, %arg2: tile<i1>) {
//   %0 = ori %arg1, %arg2 : tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 7 changes
//          4  dead
//          1  simplify_not_not
//          1  simplify_de_morgan
//          1  simplify_xor_not
// -----
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %a = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
  %r = xori %a, %true : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = cmpi greater_than_or_equal %arg1, %arg2, signed : tile<i32> -> tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          2  dead
//          1  simplify_not_compare
//          1  simplify_xor_not
// -----
entry @k(%p: tile<ptr<i1>>, %c: tile<i1>, %d: tile<i1>) {
  %a = andi %c, %d : tile<i1>
  %r = andi %a, %c : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i1>, %arg2: tile<i1>) {
//   %0 = andi %arg1, %arg2 : tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_idempotent
//          1  simplify_flatten
// -----
entry @k(%p: tile<ptr<i1>>, %c: tile<i1>) {
  %true = constant <i1: true> : tile<i1>
  %a = xori %c, %true : tile<i1>
  %r = andi %a, %c : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i1>) {
//   %false = constant <i1: false> : tile<i1>
//   %0 = store_ptr_tko weak %arg0, %false : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_complement
// -----
entry @k(%p: tile<ptr<i1>>, %c: tile<i1>, %d: tile<i1>) {
  %a = ori %c, %d : tile<i1>
  %r = andi %a, %c : tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i1>, %arg2: tile<i1>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_absorb
//          1  dead
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %a = addi %x, %one : tile<i32>
  %r = addi %a, %two : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %0 = addi %arg1, %cst_3_i32 : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          3  dead
//          1  simplify_sum_flatten
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
  %a = addi %x, %y : tile<i32>
  %r = subi %a, %y : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          1  simplify_sum_trivial
//          1  simplify_sum_collect
//          1  simplify_sum_flatten
//          1  dead
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %a = muli %x, %two : tile<i32>
  %b = muli %x, %one : tile<i32>
  %r = addi %a, %b : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {
//   %cst_3_i32 = constant <i32: 3> : tile<i32>
//   %0 = muli %arg1, %cst_3_i32 : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 7 changes
//          3  dead
//          1  simplify_sum_trivial
//          1  simplify_mul_constant
//          1  simplify_sum_collect
//          1  simplify_sum_flatten
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %r = muli %x, %zero : tile<i32>
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
// simplify: 3 changes
//          1  simplify_sum_trivial
//          1  simplify_sum_collect
//          1  simplify_mul_constant
// -----
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %a = addi %x, %one : tile<i32>
  %r = cmpi equal %a, %one, signed : tile<i32> -> tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i32>) {
//   %cst_0_i32 = constant <i32: 0> : tile<i32>
//   %0 = cmpi equal %arg1, %cst_0_i32, signed : tile<i32> -> tile<i1>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_equal_sum
// -----
entry @k(%p: tile<ptr<i1>>, %x: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %r = cmpi less_than %x, %zero, unsigned : tile<i32> -> tile<i1>
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
// simplify: 2 changes
//          1  simplify_compare_extreme
//          1  dead
// -----
entry @k(%p: tile<ptr<i1>>, %c: tile<i1>) {
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %s = select %c, %one, %two : tile<i1>, tile<i32>
  %r = cmpi equal %s, %one, signed : tile<i32> -> tile<i1>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i1>>, tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i1>>, %arg1: tile<i1>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i1>>, tile<i1> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          3  dead
//          1  simplify_compare_select
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %c: tile<i1>) {
  %r = select %c, %x, %x : tile<i1>, tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i1>) {
//   %0 = store_ptr_tko weak %arg0, %arg1 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 1 changes
//          1  simplify_select_same
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>, %c: tile<i1>) {
  %true = constant <i1: true> : tile<i1>
  %n = xori %c, %true : tile<i1>
  %r = select %n, %x, %y : tile<i1>, tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i1>) {
//   %0 = select %arg3, %arg2, %arg1 : tile<i1>, tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_select_not
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %e = exti %x signed : tile<i32> -> tile<i64>
  %r = trunci %e : tile<i64> -> tile<i32>
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
//          1  simplify_trunc_ext
//          1  dead
// -----
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
  %a = mini %x, %y signed : tile<i32>
  %r = mini %a, %x signed : tile<i32>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
//   %0 = mini %arg1, %arg2 signed : tile<i32>
//   %1 = store_ptr_tko weak %arg0, %0 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// simplify: 2 changes
//          1  simplify_idempotent
//          1  simplify_flatten
