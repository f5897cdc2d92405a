// RUN: tilery dis %s
"cuda_tile.module"() <{sym_name = "m"}> ({
  "cuda_tile.entry"() <{function_type = (!cuda_tile.tile<f32>) -> (), sym_name = "k"}> ({
  ^bb0(%x: !cuda_tile.tile<f32>):
    %0 = "cuda_tile.addf"(%x, %x) <{rounding_mode = #cuda_tile.rounding<zero>}> : (!cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// =>
// entry @k(%arg0: tile<f32>) {
//   %0 = addf %arg0, %arg0 rounding<zero> : tile<f32>
//   return
// }
