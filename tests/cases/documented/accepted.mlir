// RUN: tilery check --input documented %s
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume div_by<4>, %p : tile<ptr<f32>>
  %c = assume div_by<2>, %h : tile<ptr<f16>>
  return
}
// =>
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume div_by<2>, %n : tile<i32>
  return
}
// =>
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %i = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xi32, strides=[1]>
  %a = assume div_by<16>, %i : tensor_view<64xi32, strides=[1]>
  return
}
// =>
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %k = constant <i32: 0> : tile<8x4xi32>
  %a = assume div_by<4, every 2 along 0>, %k : tile<8x4xi32>
  return
}
// =>
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume bounded<0, 7, min = 0, max = 7, strict>, %n : tile<i32>
  return
}
// =>
// -----
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %k = constant <i32: [2, 2]> : tile<2xi32>
  %a = assume same_elements<[2]>, %k : tile<2xi32>
  return
}
// =>
