// RUN: tilery check %s
// RUN: tilery check --input documented %s
// Only the documents refuse these.
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume div_by<2>, %p : tile<ptr<f32>>
  return
}
// =>
// $ tilery check %s
// $ tilery check --input documented %s
// stderr:
// in.mlir:5:8: error: 'cuda_tile.assume' op 'cuda_tile.div_by' divisor must be a multiple of the size of the pointee, 4 bytes
//       %a = assume div_by<2>, %p : tile<ptr<f32>>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume div_by<1>, %h : tile<ptr<f16>>
  return
}
// =>
// $ tilery check %s
// $ tilery check --input documented %s
// stderr:
// in.mlir:2:8: error: 'cuda_tile.assume' op 'cuda_tile.div_by' divisor must be a multiple of the size of the pointee, 2 bytes
//       %a = assume div_by<1>, %h : tile<ptr<f16>>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %i = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xi32, strides=[1]>
  %a = assume div_by<16>, %t : tensor_view<64xf32, strides=[1]>
  return
}
// =>
// $ tilery check %s
// $ tilery check --input documented %s
// stderr:
// in.mlir:4:8: error: 'cuda_tile.assume' op 'cuda_tile.div_by' is not defined for floating point, and the element is f32
//       %a = assume div_by<16>, %t : tensor_view<64xf32, strides=[1]>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %k = constant <i32: 0> : tile<8x4xi32>
  %a = assume div_by<16, every 2 along 0>, %k : tile<8x4xi32>
  return
}
// =>
// $ tilery check %s
// $ tilery check --input documented %s
// stderr:
// in.mlir:3:8: error: 'cuda_tile.assume' op 'cuda_tile.div_by' divisor must divide the size of dimension 0, which is 8
//       %a = assume div_by<16, every 2 along 0>, %k : tile<8x4xi32>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume bounded<0, 7, max = 5>, %n : tile<i32>
  return
}
// =>
// $ tilery check %s
// stderr:
// in.mlir:2:27: error: expected '>'
//       %a = assume bounded<0, 7, max = 5>, %n : tile<i32>
//                               ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// $ tilery check --input documented %s
// stderr:
// in.mlir:2:8: error: 'cuda_tile.assume' op 'cuda_tile.bounded' expects bounds within min and max, [-9223372036854775808, 5], got 0 and 7
//       %a = assume bounded<0, 7, max = 5>, %n : tile<i32>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume bounded<0, 7, min = 1>, %n : tile<i32>
  return
}
// =>
// $ tilery check %s
// stderr:
// in.mlir:2:27: error: expected '>'
//       %a = assume bounded<0, 7, min = 1>, %n : tile<i32>
//                               ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// $ tilery check --input documented %s
// stderr:
// in.mlir:2:8: error: 'cuda_tile.assume' op 'cuda_tile.bounded' expects bounds within min and max, [1, 9223372036854775807], got 0 and 7
//       %a = assume bounded<0, 7, min = 1>, %n : tile<i32>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume bounded<9, ?, max = 5>, %n : tile<i32>
  return
}
// =>
// $ tilery check %s
// stderr:
// in.mlir:2:27: error: expected '>'
//       %a = assume bounded<9, ?, max = 5>, %n : tile<i32>
//                               ^
// note: for example: %0 = assume div_by<16>, %ptr : tile<ptr<f32>>
// exit 1
// $ tilery check --input documented %s
// stderr:
// in.mlir:2:8: error: 'cuda_tile.assume' op 'cuda_tile.bounded' expects lo <= hi, got 9 and 5
//       %a = assume bounded<9, ?, max = 5>, %n : tile<i32>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %k = constant <i32: [1, 2]> : tile<2xi32>
  %a = assume same_elements<[2]>, %k : tile<2xi32>
  return
}
// =>
// $ tilery check %s
// $ tilery check --input documented %s
// stderr:
// in.mlir:3:8: error: 'cuda_tile.assume' op 'cuda_tile.same_elements' expects a splat, and the elements of this constant differ
//       %a = assume same_elements<[2]>, %k : tile<2xi32>
//            ^^^^^^
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %k = constant <f8E8M0FNU: 1.0> : tile<f8E8M0FNU>
  return
}
// =>
// $ tilery check %s
// $ tilery check --input documented %s
// stderr:
// in.mlir:2:8: error: failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or i1 or i8 or i16 or i32 or i64 or Pointer type
//       %k = constant <f8E8M0FNU: 1.0> : tile<f8E8M0FNU>
//            ^^^^^^^^
// note: in tile<f8E8M0FNU>
// exit 1
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %b8 = constant <i8: 7> : tile<64xi8>
  %k = unpack %b8 : tile<64xi8> -> tile<128xF4E2M1FN>
  return
}
// =>
// $ tilery check %s
// stderr:
// in.mlir:3:53: error: custom op 'cuda_tile.unpack' unknown type: F4E2M1FN
//       %k = unpack %b8 : tile<64xi8> -> tile<128xF4E2M1FN>
//                                                         ^
// note: did you mean 'f4E2M1FN'?
// note: for example: %0 = unpack %a : tile<32xi8> -> tile<64xf4E2M1FN>
// exit 1
// $ tilery check --input documented %s
// stderr:
// in.mlir:3:8: error: failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or i1 or i8 or i16 or i32 or i64 or Pointer type
//       %k = unpack %b8 : tile<64xi8> -> tile<128xF4E2M1FN>
//            ^^^^^^
// note: in tile<128xf4E2M1FN>
// exit 1
