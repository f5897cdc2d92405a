// RUN: tilery opt --stats --passes merge-assumes %s
// What two promises say together stays, also where only one of them is used.
entry @k(%x: tile<i32>, %y: tile<i32>, %z: tile<i32>, %p: tile<ptr<f32>>) {
  %0 = assume div_by<16>, %x : tile<i32>
  %1 = assume bounded<0, ?>, %0 : tile<i32>
  %2 = assume div_by<8>, %1 : tile<i32>
  %3 = assume div_by<4>, %y : tile<i32>
  %4 = assume div_by<32>, %3 : tile<i32>
  %5 = assume bounded<0, ?>, %z : tile<i32>
  %6 = assume bounded<?, 9>, %5 : tile<i32>
  %7 = assume div_by<16>, %p : tile<ptr<f32>>
  print_tko "%d %d %d %d %p", %2, %3, %4, %6, %7 : tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<ptr<f32>> -> token
  return
}
// =>
// entry @k(%arg0: tile<i32>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>) {
//   %assume = assume div_by<16>, %arg0 : tile<i32>
//   %assume_assume = assume bounded<0, ?>, %assume : tile<i32>
//   %assume_0 = assume div_by<4>, %arg1 : tile<i32>
//   %assume_1 = assume div_by<32>, %arg1 : tile<i32>
//   %assume_2 = assume bounded<0, 9>, %arg2 : tile<i32>
//   %assume_3 = assume div_by<16>, %arg3 : tile<ptr<f32>>
//   %0 = print_tko "%d %d %d %d %p", %assume_assume, %assume_0, %assume_1, %assume_2, %assume_3 : tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<ptr<f32>> -> token
//   return
// }
// stderr:
// merge-assumes: 3 changes
//          1  assume_implied
//          1  assume_stronger
//          1  assume_bounds
