// RUN: tilery check %s
entry @k() optimization_hints=<2> {}
// =>
// stderr:
// in.mlir:2:32: error: custom op 'cuda_tile.entry' expected valid keyword or string
//     entry @k() optimization_hints=<2> {}
//                                    ^
// note: for example: entry @k(%p: tile<ptr<f32>>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {
// exit 1
// -----
#a = [1, 2 
// =>
// stderr:
// in.mlir:1:11: error: expected ',' or ']'
//     #a = [1, 2
//               ^
// exit 1
// -----
#a = {b = 1, b = 2}
// =>
// stderr:
// in.mlir:1:14: error: duplicate key 'b' in dictionary attribute
//     #a = {b = 1, b = 2}
//                  ^
// exit 1
// -----
#a = 300 : i8
// =>
// stderr:
// in.mlir:1:6: error: integer constant out of range for attribute
//     #a = 300 : i8
//          ^^^
// exit 1
// -----
#a = #cuda_tile.di_file<1 in 2>
// =>
// stderr:
// in.mlir:1:25: error: invalid kind of attribute specified
//     #a = #cuda_tile.di_file<1 in 2>
//                             ^
// in.mlir:1:27: error: failed to parse CudaTile_DIFileAttr parameter 'name' which is to be a `StringAttr`
// exit 1
// -----
#a = #b
#b = 1
// =>
// stderr:
// in.mlir:1:8: error: undefined symbol alias id 'b'
//     #a = #b
//            ^
// exit 1
// -----
entry @k() {} loc(#nowhere)
// =>
// stderr:
// in.mlir:1:19: error: operation location alias was never defined
//     entry @k() {} loc(#nowhere)
//                       ^^^^^^^^
// exit 1
