// RUN: tilery info %s | filecheck %s
// CHECK: entry @scale, 4 operations
// CHECK-NEXT: 0  tile<f32>
// CHECK: operations: 5
// CHECK-NEXT: mulf    2
entry @scale(%x: tile<f32>) {
  %0 = mulf %x, %x : tile<f32>
  %1 = mulf %0, %x : tile<f32>
  %2 = negf %1 : tile<f32>
  return
}
