entry @layernorm(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<ptr<f32>>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<i32>) optimization_hints=<default = {}> {
  %cst_f32 = constant <f32: 9.99999974E-6> : tile<f32>
  %cst_1024_f32 = constant <f32: 1.024000e+03> : tile<f32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg1 : tile<i32>
  %assume_1 = assume div_by<16>, %arg2 : tile<i32>
  %assume_2 = assume div_by<4>, %arg3 : tile<i32>
  %assume_3 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_4 = assume div_by<16>, %arg6 : tile<i32>
  %assume_5 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %assume_6 = assume div_by<16>, %arg9 : tile<i32>
  %assume_7 = assume div_by<16>, %arg11 : tile<ptr<f32>>
  %assume_8 = assume div_by<16>, %arg12 : tile<i32>
  %assume_9 = assume div_by<16>, %arg13 : tile<i32>
  %assume_10 = assume div_by<4>, %arg14 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<16>, %assume_assume : tile<i32>
  %assume_assume_11 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_assume_12 = assume div_by<16>, %assume_assume_11 : tile<i32>
  %assume_assume_13 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_14 = assume div_by<4>, %assume_assume_13 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_assume_assume, %assume_assume_assume_12], strides = [%assume_assume_assume_14, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_assume_15 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_16 = assume div_by<16>, %assume_assume_15 : tile<i32>
  %tview_17 = make_tensor_view %assume_3, shape = [%assume_assume_assume_16], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_assume_18 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_19 = assume div_by<16>, %assume_assume_18 : tile<i32>
  %tview_20 = make_tensor_view %assume_5, shape = [%assume_assume_assume_19], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_assume_21 = assume bounded<0, ?>, %assume_8 : tile<i32>
  %assume_assume_assume_22 = assume div_by<16>, %assume_assume_21 : tile<i32>
  %assume_assume_23 = assume bounded<0, ?>, %assume_9 : tile<i32>
  %assume_assume_assume_24 = assume div_by<16>, %assume_assume_23 : tile<i32>
  %assume_assume_25 = assume bounded<0, ?>, %assume_10 : tile<i32>
  %assume_assume_assume_26 = assume div_by<4>, %assume_assume_25 : tile<i32>
  %tview_27 = make_tensor_view %assume_7, shape = [%assume_assume_assume_22, %assume_assume_assume_24], strides = [%assume_assume_assume_26, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
  %reduce = reduce %tile dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %10 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %10 : tile<f32>
  }
  %reshape = reshape %reduce : tile<1xf32> -> tile<1x1xf32>
  %reshape_28 = reshape %cst_1024_f32 : tile<f32> -> tile<1x1xf32>
  %1 = divf %reshape, %reshape_28  : tile<1x1xf32>
  %bcast = broadcast %1 : tile<1x1xf32> -> tile<1x1024xf32>
  %2 = subf %tile, %bcast  : tile<1x1024xf32>
  %3 = mulf %2, %2  : tile<1x1024xf32>
  %reduce_29 = reduce %3 dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %10 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %10 : tile<f32>
  }
  %reshape_30 = reshape %reduce_29 : tile<1xf32> -> tile<1x1xf32>
  %4 = divf %reshape_30, %reshape_28  : tile<1x1xf32>
  %reshape_31 = reshape %cst_f32 : tile<f32> -> tile<1x1xf32>
  %5 = addf %4, %reshape_31  : tile<1x1xf32>
  %6 = rsqrt %5 : tile<1x1xf32>
  %bcast_32 = broadcast %6 : tile<1x1xf32> -> tile<1x1024xf32>
  %7 = mulf %2, %bcast_32  : tile<1x1024xf32>
  %pview_33 = make_partition_view %tview_17 : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>
  %tile_34, %result_token_35 = load_view_tko weak %pview_33[%cst_0_i32] token = %0 : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
  %pview_36 = make_partition_view %tview_20 : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>
  %tile_37, %result_token_38 = load_view_tko weak %pview_36[%cst_0_i32] token = %0 : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
  %reshape_39 = reshape %tile_34 : tile<1024xf32> -> tile<1x1024xf32>
  %reshape_40 = reshape %tile_37 : tile<1024xf32> -> tile<1x1024xf32>
  %8 = fma %7, %reshape_39, %reshape_40  : tile<1x1024xf32>
  %pview_41 = make_partition_view %tview_27 : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
  %9 = store_view_tko weak %8, %pview_41[%blockId_x, %cst_0_i32] token = %0 : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
