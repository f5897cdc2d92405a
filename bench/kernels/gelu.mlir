entry @gelu(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %cst_f32 = constant <f32: 5.000000e-01> : tile<f32>
  %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
  %cst_f32_0 = constant <f32: 4.471500e-02> : tile<f32>
  %cst_f32_1 = constant <f32: 0.797884583> : tile<f32>
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_2 = assume div_by<16>, %arg1 : tile<i32>
  %assume_3 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %assume_4 = assume div_by<16>, %arg4 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume = assume div_by<16>, %assume_assume : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_assume_assume], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_assume_5 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_6 = assume div_by<16>, %assume_assume_5 : tile<i32>
  %tview_7 = make_tensor_view %assume_3, shape = [%assume_assume_assume_6], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x] token = %0 : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
  %reshape = reshape %cst_f32_0 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<1024xf32>
  %1 = mulf %bcast, %tile  : tile<1024xf32>
  %2 = mulf %1, %tile  : tile<1024xf32>
  %3 = fma %2, %tile, %tile  : tile<1024xf32>
  %reshape_8 = reshape %cst_f32_1 : tile<f32> -> tile<1xf32>
  %bcast_9 = broadcast %reshape_8 : tile<1xf32> -> tile<1024xf32>
  %4 = mulf %bcast_9, %3  : tile<1024xf32>
  %reshape_10 = reshape %cst_2_f32 : tile<f32> -> tile<1xf32>
  %bcast_11 = broadcast %reshape_10 : tile<1xf32> -> tile<1024xf32>
  %5 = mulf %bcast_11, %4  : tile<1024xf32>
  %6 = exp %5  : tile<1024xf32>
  %reshape_12 = reshape %cst_1_f32 : tile<f32> -> tile<1xf32>
  %bcast_13 = broadcast %reshape_12 : tile<1xf32> -> tile<1024xf32>
  %7 = addf %6, %bcast_13  : tile<1024xf32>
  %8 = divf %bcast_11, %7  : tile<1024xf32>
  %9 = subf %bcast_13, %8  : tile<1024xf32>
  %reshape_14 = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast_15 = broadcast %reshape_14 : tile<1xf32> -> tile<1024xf32>
  %10 = mulf %bcast_15, %tile  : tile<1024xf32>
  %11 = addf %bcast_13, %9  : tile<1024xf32>
  %12 = mulf %10, %11  : tile<1024xf32>
  %pview_16 = make_partition_view %tview_7 : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>
  %13 = store_view_tko weak %12, %pview_16[%blockId_x] token = %0 : tile<1024xf32>, partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
