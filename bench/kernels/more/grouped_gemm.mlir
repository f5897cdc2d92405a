entry @grouped_gemm(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>, %arg7: tile<ptr<f32>>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<ptr<f32>>, %arg15: tile<i32>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<i32>, %arg20: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg2 : tile<i32>
  %assume_1 = assume div_by<16>, %arg3 : tile<i32>
  %assume_2 = assume div_by<4>, %arg4 : tile<i32>
  %assume_3 = assume div_by<4>, %arg5 : tile<i32>
  %assume_4 = assume div_by<16>, %arg7 : tile<ptr<f32>>
  %assume_5 = assume div_by<16>, %arg9 : tile<i32>
  %assume_6 = assume div_by<16>, %arg10 : tile<i32>
  %assume_7 = assume div_by<4>, %arg11 : tile<i32>
  %assume_8 = assume div_by<4>, %arg12 : tile<i32>
  %assume_9 = assume div_by<16>, %arg14 : tile<ptr<f32>>
  %assume_10 = assume div_by<16>, %arg16 : tile<i32>
  %assume_11 = assume div_by<16>, %arg17 : tile<i32>
  %assume_12 = assume div_by<4>, %arg18 : tile<i32>
  %assume_13 = assume div_by<4>, %arg19 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_14 = constant <i32: 1> : tile<i32>
  %cst_1_i32_15 = constant <i32: 1> : tile<i32>
  %assume_16 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<16>, %assume_assume : tile<i32>
  %assume_assume_17 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_assume_18 = assume div_by<16>, %assume_assume_17 : tile<i32>
  %assume_assume_19 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_20 = assume div_by<4>, %assume_assume_19 : tile<i32>
  %assume_assume_21 = assume bounded<0, ?>, %assume_3 : tile<i32>
  %assume_assume_assume_22 = assume div_by<4>, %assume_assume_21 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_16, %assume_assume_assume, %assume_assume_assume_18], strides = [%assume_assume_assume_20, %assume_assume_assume_22, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %assume_23 = assume bounded<0, ?>, %arg8 : tile<i32>
  %assume_assume_24 = assume bounded<0, ?>, %assume_5 : tile<i32>
  %assume_assume_assume_25 = assume div_by<16>, %assume_assume_24 : tile<i32>
  %assume_assume_26 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_27 = assume div_by<16>, %assume_assume_26 : tile<i32>
  %assume_assume_28 = assume bounded<0, ?>, %assume_7 : tile<i32>
  %assume_assume_assume_29 = assume div_by<4>, %assume_assume_28 : tile<i32>
  %assume_assume_30 = assume bounded<0, ?>, %assume_8 : tile<i32>
  %assume_assume_assume_31 = assume div_by<4>, %assume_assume_30 : tile<i32>
  %tview_32 = make_tensor_view %assume_4, shape = [%assume_23, %assume_assume_assume_25, %assume_assume_assume_27], strides = [%assume_assume_assume_29, %assume_assume_assume_31, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %assume_33 = assume bounded<0, ?>, %arg15 : tile<i32>
  %assume_assume_34 = assume bounded<0, ?>, %assume_10 : tile<i32>
  %assume_assume_assume_35 = assume div_by<16>, %assume_assume_34 : tile<i32>
  %assume_assume_36 = assume bounded<0, ?>, %assume_11 : tile<i32>
  %assume_assume_assume_37 = assume div_by<16>, %assume_assume_36 : tile<i32>
  %assume_assume_38 = assume bounded<0, ?>, %assume_12 : tile<i32>
  %assume_assume_assume_39 = assume div_by<4>, %assume_assume_38 : tile<i32>
  %assume_assume_40 = assume bounded<0, ?>, %assume_13 : tile<i32>
  %assume_assume_assume_41 = assume div_by<4>, %assume_assume_40 : tile<i32>
  %tview_42 = make_tensor_view %assume_9, shape = [%assume_33, %assume_assume_assume_35, %assume_assume_assume_37], strides = [%assume_assume_assume_39, %assume_assume_assume_41, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %pview = make_partition_view %tview_42 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %1:3 = get_index_space_shape %pview : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>> -> tile<i32>
  %pview_43 = make_partition_view %tview_42 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %2:3 = get_index_space_shape %pview_43 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>> -> tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %3 = muli %assume_33, %1#1 : tile<i32>
  %4 = muli %3, %2#2 : tile<i32>
  %gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>
  %5 = muli %1#1, %2#2 : tile<i32>
  %6 = muli %1#1, %2#2 : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %7 = cmpi less_than %6, %cst_0_i32, signed : tile<i32> -> tile<i1>
  %cst_0_i32_44 = constant <i32: 0> : tile<i32>
  %8 = cmpi less_than %2#2, %cst_0_i32_44, signed : tile<i32> -> tile<i1>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %pview_45 = make_partition_view %tview : partition_view<tile=(1x64x32), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %9:3 = get_index_space_shape %pview_45 : partition_view<tile=(1x64x32), tensor_view<?x?x?xf32, strides=[?,?,1]>> -> tile<i32>
  %cst_0_i32_46 = constant <i32: 0> : tile<i32>
  %cst_1_i32_47 = constant <i32: 1> : tile<i32>
  %pview_48 = make_partition_view %tview : partition_view<tile=(1x64x32), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %pview_49 = make_partition_view %tview_32 : partition_view<tile=(1x32x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %pview_50 = make_partition_view %tview_42 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %for = for %loopIdx in (%blockId_x to %4, step %gridSize_x) : tile<i32> iter_values(%iterArg0 = %0) -> (token) {
    %10 = divi %loopIdx, %5 signed rounding<negative_inf> : tile<i32>
    %11 = remi %loopIdx, %6 signed : tile<i32>
    %12 = cmpi less_than %11, %cst_0_i32, signed : tile<i32> -> tile<i1>
    %13 = xori %12, %7 : tile<i1>
    %14 = cmpi not_equal %11, %cst_0_i32, signed : tile<i32> -> tile<i1>
    %15 = andi %13, %14 : tile<i1>
    %16 = addi %11, %6 : tile<i32>
    %17 = select %15, %16, %11 : tile<i1>, tile<i32>
    %18 = divi %17, %2#2 signed rounding<negative_inf> : tile<i32>
    %19 = remi %17, %2#2 signed : tile<i32>
    %20 = cmpi less_than %19, %cst_0_i32_44, signed : tile<i32> -> tile<i1>
    %21 = xori %20, %8 : tile<i1>
    %22 = cmpi not_equal %19, %cst_0_i32_44, signed : tile<i32> -> tile<i1>
    %23 = andi %21, %22 : tile<i1>
    %24 = addi %19, %2#2 : tile<i32>
    %25 = select %23, %24, %19 : tile<i1>, tile<i32>
    %for_51 = for %loopIdx_52 in (%cst_0_i32_46 to %9#2, step %cst_1_i32_47) : tile<i32> iter_values(%iterArg0_53 = %cst_0_f32) -> (tile<64x64xf32>) {
      %tile, %result_token = load_view_tko weak %pview_48[%10, %18, %loopIdx_52] token = %0 : partition_view<tile=(1x64x32), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> tile<1x64x32xf32>, token
      %reshape_54 = reshape %tile : tile<1x64x32xf32> -> tile<64x32xf32>
      %tile_55, %result_token_56 = load_view_tko weak %pview_49[%10, %loopIdx_52, %25] token = %0 : partition_view<tile=(1x32x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> tile<1x32x64xf32>, token
      %reshape_57 = reshape %tile_55 : tile<1x32x64xf32> -> tile<32x64xf32>
      %27 = mmaf %reshape_54, %reshape_57, %iterArg0_53 : tile<64x32xf32>, tile<32x64xf32>, tile<64x64xf32>
      continue %27 : tile<64x64xf32>
    }
    %reshape = reshape %for_51 : tile<64x64xf32> -> tile<1x64x64xf32>
    %26 = store_view_tko weak %reshape, %pview_50[%10, %18, %25] token = %iterArg0 : tile<1x64x64xf32>, partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> token
    continue %26 : token
  }
  return
}
