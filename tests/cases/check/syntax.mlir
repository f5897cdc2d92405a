// RUN: tilery check %s
entry @k(%a: tile<i32>) {
  %0 = cmpi lessthan %a, %a, signed : tile<i32> -> tile<i1>
}
// =>
// stderr:
// in.mlir:3:13: error: custom op 'cuda_tile.cmpi' expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', 'greater_than', 'greater_than_or_equal'}
//       %0 = cmpi lessthan %a, %a, signed : tile<i32> -> tile<i1>
//                 ^^^^^^^^
// note: did you mean 'less_than'?
// note: for example: %0 = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
// exit 1
