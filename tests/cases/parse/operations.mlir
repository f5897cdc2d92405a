// RUN: tilery check %s
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = addf %x %x : tile<f32>
}
// =>
// stderr:
// in.mlir:3:15: error: expected ','
//       %0 = addf %x %x : tile<f32>
//                   ^
// note: for example: %0 = addf %x, %x rounding<zero> flush_to_zero : tile<f32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = addf %x, : tile<f32>
}
// =>
// stderr:
// in.mlir:2:16: error: expected SSA operand
//       %0 = addf %x, : tile<f32>
//                    ^
// note: for example: %0 = addf %x, %x rounding<zero> flush_to_zero : tile<f32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = adf %x : tile<f32>
}
// =>
// stderr:
// in.mlir:2:8: error: custom op 'adf' is unknown (tried 'cuda_tile.adf' as well)
//       %0 = adf %x : tile<f32>
//            ^^^
// note: did you mean 'addf'?
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = cuda_tile.adf %x
}
// =>
// stderr:
// in.mlir:2:8: error: custom op 'cuda_tile.adf' is unknown
//       %0 = cuda_tile.adf %x
//            ^^^^^^^^^^^^^
// note: did you mean 'addf'?
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = arith.addf %x
}
// =>
// stderr:
// in.mlir:2:8: error: Dialect `arith' not found for custom op 'arith.addf'
//       %0 = arith.addf %x
//            ^^^^^^^^^^
// note: Registered dialects: builtin, cuda_tile ; for more info on dialect registration see https://mlir.llvm.org/getting_started/Faq/#registered-loaded-dependent-whats-up-with-dialects-management
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = assume pluto<4>, %n : tile<i32>
}
// =>
// stderr:
// in.mlir:2:15: error: custom op 'cuda_tile.assume' unknown assume predicate attribute: pluto (expected 'div_by', 'same_elements', or 'bounded')
//       %0 = assume pluto<4>, %n : tile<i32>
//                   ^^^^^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  "foo.bar"() : () -> ()
}
// =>
// stderr:
// in.mlir:2:12: error: operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used
//       "foo.bar"() : () -> ()
//                ^
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  "cuda_tile.addf"(%x) : (tile<f32>, tile<f32>) -> tile<f32>
}
// =>
// stderr:
// in.mlir:2:26: error: expected 1 operand type but had 2
//       "cuda_tile.addf"(%x) : (tile<f32>, tile<f32>) -> tile<f32>
//                              ^
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  if %c {
}
// =>
// stderr:
// in.mlir:3:2: error: expected operation name in quotes
//     }
//      ^
// in.mlir:1:82: note: this region is not closed
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = iota & : tile<8xi32>
}
// =>
// stderr:
// in.mlir:2:13: error: unexpected character
//       %0 = iota & : tile<8xi32>
//                 ^
// note: for example: %0 = iota : tile<128xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  assert %c, "open : tile<i1>
}
// =>
// stderr:
// in.mlir:2:30: error: expected '"' in string literal
//       assert %c, "open : tile<i1>
//                                  ^
// note: for example: assert %c, "must hold" : tile<i1>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  assert %c, "\q" : tile<i1>
}
// =>
// stderr:
// in.mlir:2:15: error: unknown escape in string literal
//       assert %c, "\q" : tile<i1>
//                   ^
// note: for example: assert %c, "must hold" : tile<i1>
// exit 1
// -----
}
// =>
// stderr:
// in.mlir:1:1: error: expected operation name in quotes
//     }
//     ^
// in.mlir:1:1: error: unexpected '}': no region starts here
//     }
//     ^
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = cat %n %n : tile<i32>
}
// =>
// stderr:
// in.mlir:2:14: error: expected ','
//       %0 = cat %n %n : tile<i32>
//                  ^
// note: for example: %0 = cat %a, %a dim = 0 : tile<4xi32>, tile<4xi32> -> tile<8xi32>
// exit 1
// -----
testing$func @f() {}
// =>
// stderr:
// in.mlir:1:1: error: custom op 'testing$func' is unknown (tried 'cuda_tile.testing$func' as well)
//     testing$func @f() {}
//     ^^^^^^^^^^^^
// exit 1
