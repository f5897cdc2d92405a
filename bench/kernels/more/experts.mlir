entry @experts(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<ptr<i32>>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<ptr<i32>>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<ptr<f32>>, %arg19: tile<i32>, %arg20: tile<i32>, %arg21: tile<i32>, %arg22: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg1 : tile<i32>
  %assume_1 = assume div_by<16>, %arg2 : tile<i32>
  %assume_2 = assume div_by<4>, %arg3 : tile<i32>
  %assume_3 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_4 = assume div_by<16>, %arg7 : tile<i32>
  %assume_5 = assume div_by<16>, %arg8 : tile<i32>
  %assume_6 = assume div_by<4>, %arg9 : tile<i32>
  %assume_7 = assume div_by<4>, %arg10 : tile<i32>
  %assume_8 = assume div_by<16>, %arg12 : tile<ptr<i32>>
  %assume_9 = assume div_by<16>, %arg13 : tile<i32>
  %assume_10 = assume div_by<16>, %arg15 : tile<ptr<i32>>
  %assume_11 = assume div_by<16>, %arg16 : tile<i32>
  %assume_12 = assume div_by<16>, %arg18 : tile<ptr<f32>>
  %assume_13 = assume div_by<16>, %arg19 : tile<i32>
  %assume_14 = assume div_by<16>, %arg20 : tile<i32>
  %assume_15 = assume div_by<4>, %arg21 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_16 = constant <i32: 1> : tile<i32>
  %cst_1_i32_17 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<64x64xi64>
  %cst_1_i64_18 = constant <i64: 1> : tile<64x64xi64>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_19 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_20 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_21 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_assume_22 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume = assume div_by<16>, %assume_assume_22 : tile<i32>
  %assume_assume_23 = assume bounded<0, ?>, %assume_5 : tile<i32>
  %assume_assume_assume_24 = assume div_by<16>, %assume_assume_23 : tile<i32>
  %assume_assume_25 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_26 = assume div_by<4>, %assume_assume_25 : tile<i32>
  %assume_assume_27 = assume bounded<0, ?>, %assume_7 : tile<i32>
  %assume_assume_assume_28 = assume div_by<4>, %assume_assume_27 : tile<i32>
  %tview = make_tensor_view %assume_3, shape = [%assume_21, %assume_assume_assume, %assume_assume_assume_24], strides = [%assume_assume_assume_26, %assume_assume_assume_28, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %assume_assume_29 = assume bounded<0, ?>, %assume_9 : tile<i32>
  %assume_assume_assume_30 = assume div_by<16>, %assume_assume_29 : tile<i32>
  %tview_31 = make_tensor_view %assume_8, shape = [%assume_assume_assume_30], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_assume_32 = assume bounded<0, ?>, %assume_11 : tile<i32>
  %assume_assume_assume_33 = assume div_by<16>, %assume_assume_32 : tile<i32>
  %tview_34 = make_tensor_view %assume_10, shape = [%assume_assume_assume_33], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_assume_35 = assume bounded<0, ?>, %assume_13 : tile<i32>
  %assume_assume_36 = assume bounded<0, ?>, %assume_14 : tile<i32>
  %assume_assume_37 = assume bounded<0, ?>, %assume_15 : tile<i32>
  %cst_64_i32 = constant <i32: 64> : tile<i32>
  %cst_64_i32_38 = constant <i32: 64> : tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %blockId_x_39, %blockId_y_40, %blockId_z_41 = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview_31 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x] token = %0 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<64xi32>, token
  %pview_42 = make_partition_view %tview_34 : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>
  %tile_43, %result_token_44 = load_view_tko weak %pview_42[%blockId_x] token = %0 : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
  %reshape = reshape %tile_43 : tile<1xi32> -> tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %pview_45 = make_partition_view %tview : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %1:3 = get_index_space_shape %pview_45 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>> -> tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_46 = constant <i32: 1> : tile<i32>
  %2 = iota : tile<64xi32>
  %reshape_47 = reshape %tile : tile<64xi32> -> tile<64x1xi32>
  %3 = exti %reshape_47 signed : tile<64x1xi32> -> tile<64x1xi64>
  %bcast = broadcast %3 : tile<64x1xi64> -> tile<64x64xi64>
  %4 = exti %assume_assume signed : tile<i32> -> tile<i64>
  %reshape_48 = reshape %4 : tile<i64> -> tile<1x1xi64>
  %bcast_49 = broadcast %reshape_48 : tile<1x1xi64> -> tile<64x64xi64>
  %5 = cmpi less_than %bcast, %bcast_49, unsigned : tile<64x64xi64> -> tile<64x64xi1>
  %6 = exti %assume_assume_20 signed : tile<i32> -> tile<i64>
  %reshape_50 = reshape %6 : tile<i64> -> tile<1x1xi64>
  %bcast_51 = broadcast %reshape_50 : tile<1x1xi64> -> tile<64x64xi64>
  %7 = muli %bcast, %bcast_51 : tile<64x64xi64>
  %8 = exti %assume_assume_19 signed : tile<i32> -> tile<i64>
  %reshape_52 = reshape %8 : tile<i64> -> tile<1x1xi64>
  %bcast_53 = broadcast %reshape_52 : tile<1x1xi64> -> tile<64x64xi64>
  %reshape_54 = reshape %assume : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %bcast_55 = broadcast %reshape_54 : tile<1x1xptr<f32>> -> tile<64x64xptr<f32>>
  %cst_0_f32_56 = constant <f32: 0.000000e+00> : tile<f32>
  %reshape_57 = reshape %cst_0_f32_56 : tile<f32> -> tile<1x1xf32>
  %bcast_58 = broadcast %reshape_57 : tile<1x1xf32> -> tile<64x64xf32>
  %pview_59 = make_partition_view %tview : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %for = for %loopIdx in (%cst_0_i32 to %1#1, step %cst_1_i32_46) : tile<i32> iter_values(%iterArg0 = %cst_0_f32) -> (tile<64x64xf32>) {
    %25 = muli %loopIdx, %cst_64_i32_38 : tile<i32>
    %reshape_74 = reshape %25 : tile<i32> -> tile<1xi32>
    %bcast_75 = broadcast %reshape_74 : tile<1xi32> -> tile<64xi32>
    %26 = addi %bcast_75, %2 : tile<64xi32>
    %reshape_76 = reshape %26 : tile<64xi32> -> tile<1x64xi32>
    %27 = exti %reshape_76 signed : tile<1x64xi32> -> tile<1x64xi64>
    %bcast_77 = broadcast %27 : tile<1x64xi64> -> tile<64x64xi64>
    %28 = cmpi less_than %bcast_77, %bcast_53, unsigned : tile<64x64xi64> -> tile<64x64xi1>
    %29 = andi %5, %28 : tile<64x64xi1>
    %30 = muli %bcast_77, %cst_1_i64 : tile<64x64xi64>
    %31 = addi %7, %30 : tile<64x64xi64>
    %32 = offset %bcast_55, %31 : tile<64x64xptr<f32>>, tile<64x64xi64> -> tile<64x64xptr<f32>>
    %result, %result_token_78 = load_ptr_tko weak %32, %29, %bcast_58 token=%0 : tile<64x64xptr<f32>>, tile<64x64xi1>, tile<64x64xf32> -> tile<64x64xf32>, token
    %tile_79, %result_token_80 = load_view_tko weak %pview_59[%reshape, %loopIdx, %blockId_y_40] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf32>, token
    %reshape_81 = reshape %tile_79 : tile<1x64x64xf32> -> tile<64x64xf32>
    %33 = mmaf %result, %reshape_81, %iterArg0 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
    continue %33 : tile<64x64xf32>
  }
  %9 = muli %blockId_y_40, %cst_64_i32 : tile<i32>
  %10 = iota : tile<64xi32>
  %reshape_60 = reshape %9 : tile<i32> -> tile<1xi32>
  %bcast_61 = broadcast %reshape_60 : tile<1xi32> -> tile<64xi32>
  %11 = addi %bcast_61, %10 : tile<64xi32>
  %reshape_62 = reshape %tile : tile<64xi32> -> tile<64x1xi32>
  %reshape_63 = reshape %11 : tile<64xi32> -> tile<1x64xi32>
  %12 = exti %reshape_62 signed : tile<64x1xi32> -> tile<64x1xi64>
  %bcast_64 = broadcast %12 : tile<64x1xi64> -> tile<64x64xi64>
  %13 = exti %assume_assume_35 signed : tile<i32> -> tile<i64>
  %reshape_65 = reshape %13 : tile<i64> -> tile<1x1xi64>
  %bcast_66 = broadcast %reshape_65 : tile<1x1xi64> -> tile<64x64xi64>
  %14 = cmpi less_than %bcast_64, %bcast_66, unsigned : tile<64x64xi64> -> tile<64x64xi1>
  %15 = exti %assume_assume_37 signed : tile<i32> -> tile<i64>
  %reshape_67 = reshape %15 : tile<i64> -> tile<1x1xi64>
  %bcast_68 = broadcast %reshape_67 : tile<1x1xi64> -> tile<64x64xi64>
  %16 = muli %bcast_64, %bcast_68 : tile<64x64xi64>
  %17 = exti %reshape_63 signed : tile<1x64xi32> -> tile<1x64xi64>
  %bcast_69 = broadcast %17 : tile<1x64xi64> -> tile<64x64xi64>
  %18 = exti %assume_assume_36 signed : tile<i32> -> tile<i64>
  %reshape_70 = reshape %18 : tile<i64> -> tile<1x1xi64>
  %bcast_71 = broadcast %reshape_70 : tile<1x1xi64> -> tile<64x64xi64>
  %19 = cmpi less_than %bcast_69, %bcast_71, unsigned : tile<64x64xi64> -> tile<64x64xi1>
  %20 = andi %14, %19 : tile<64x64xi1>
  %21 = muli %bcast_69, %cst_1_i64_18 : tile<64x64xi64>
  %22 = addi %16, %21 : tile<64x64xi64>
  %reshape_72 = reshape %assume_12 : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %bcast_73 = broadcast %reshape_72 : tile<1x1xptr<f32>> -> tile<64x64xptr<f32>>
  %23 = offset %bcast_73, %22 : tile<64x64xptr<f32>>, tile<64x64xi64> -> tile<64x64xptr<f32>>
  %24 = store_ptr_tko weak %23, %for, %20 token=%0 : tile<64x64xptr<f32>>, tile<64x64xf32>, tile<64x64xi1> -> token
  return
}
