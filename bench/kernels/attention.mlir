entry @attention(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>, %arg7: tile<ptr<f16>>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<ptr<f16>>, %arg15: tile<i32>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<i32>, %arg20: tile<i32>, %arg21: tile<ptr<f16>>, %arg22: tile<i32>, %arg23: tile<i32>, %arg24: tile<i32>, %arg25: tile<i32>, %arg26: tile<i32>, %arg27: tile<i32>) optimization_hints=<default = {}> {
  %cst_f32 = constant <f32: 0.180336878> : tile<f32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<128x64xf32>
  %cst_0_f32_0 = constant <f32: 0.000000e+00> : tile<128x1xf32>
  %cst_f32_1 = constant <f32: 0xFF800000> : tile<128x1xf32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_2 = assume div_by<16>, %arg1 : tile<i32>
  %assume_3 = assume div_by<16>, %arg2 : tile<i32>
  %assume_4 = assume div_by<16>, %arg3 : tile<i32>
  %assume_5 = assume div_by<8>, %arg4 : tile<i32>
  %assume_6 = assume div_by<8>, %arg5 : tile<i32>
  %assume_7 = assume div_by<16>, %arg7 : tile<ptr<f16>>
  %assume_8 = assume div_by<16>, %arg8 : tile<i32>
  %assume_9 = assume div_by<16>, %arg9 : tile<i32>
  %assume_10 = assume div_by<16>, %arg10 : tile<i32>
  %assume_11 = assume div_by<8>, %arg11 : tile<i32>
  %assume_12 = assume div_by<8>, %arg12 : tile<i32>
  %assume_13 = assume div_by<16>, %arg14 : tile<ptr<f16>>
  %assume_14 = assume div_by<16>, %arg15 : tile<i32>
  %assume_15 = assume div_by<16>, %arg16 : tile<i32>
  %assume_16 = assume div_by<16>, %arg17 : tile<i32>
  %assume_17 = assume div_by<8>, %arg18 : tile<i32>
  %assume_18 = assume div_by<8>, %arg19 : tile<i32>
  %assume_19 = assume div_by<16>, %arg21 : tile<ptr<f16>>
  %assume_20 = assume div_by<16>, %arg22 : tile<i32>
  %assume_21 = assume div_by<16>, %arg23 : tile<i32>
  %assume_22 = assume div_by<16>, %arg24 : tile<i32>
  %assume_23 = assume div_by<8>, %arg25 : tile<i32>
  %assume_24 = assume div_by<8>, %arg26 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume = assume div_by<16>, %assume_assume : tile<i32>
  %assume_assume_25 = assume bounded<0, ?>, %assume_3 : tile<i32>
  %assume_assume_assume_26 = assume div_by<16>, %assume_assume_25 : tile<i32>
  %assume_assume_27 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_28 = assume div_by<16>, %assume_assume_27 : tile<i32>
  %assume_assume_29 = assume bounded<0, ?>, %assume_5 : tile<i32>
  %assume_assume_assume_30 = assume div_by<8>, %assume_assume_29 : tile<i32>
  %assume_assume_31 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_32 = assume div_by<8>, %assume_assume_31 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_assume_assume, %assume_assume_assume_26, %assume_assume_assume_28], strides = [%assume_assume_assume_30, %assume_assume_assume_32, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_assume_33 = assume bounded<0, ?>, %assume_8 : tile<i32>
  %assume_assume_assume_34 = assume div_by<16>, %assume_assume_33 : tile<i32>
  %assume_assume_35 = assume bounded<0, ?>, %assume_9 : tile<i32>
  %assume_assume_assume_36 = assume div_by<16>, %assume_assume_35 : tile<i32>
  %assume_assume_37 = assume bounded<0, ?>, %assume_10 : tile<i32>
  %assume_assume_assume_38 = assume div_by<16>, %assume_assume_37 : tile<i32>
  %assume_assume_39 = assume bounded<0, ?>, %assume_11 : tile<i32>
  %assume_assume_assume_40 = assume div_by<8>, %assume_assume_39 : tile<i32>
  %assume_assume_41 = assume bounded<0, ?>, %assume_12 : tile<i32>
  %assume_assume_assume_42 = assume div_by<8>, %assume_assume_41 : tile<i32>
  %tview_43 = make_tensor_view %assume_7, shape = [%assume_assume_assume_34, %assume_assume_assume_36, %assume_assume_assume_38], strides = [%assume_assume_assume_40, %assume_assume_assume_42, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_assume_44 = assume bounded<0, ?>, %assume_14 : tile<i32>
  %assume_assume_assume_45 = assume div_by<16>, %assume_assume_44 : tile<i32>
  %assume_assume_46 = assume bounded<0, ?>, %assume_15 : tile<i32>
  %assume_assume_assume_47 = assume div_by<16>, %assume_assume_46 : tile<i32>
  %assume_assume_48 = assume bounded<0, ?>, %assume_16 : tile<i32>
  %assume_assume_assume_49 = assume div_by<16>, %assume_assume_48 : tile<i32>
  %assume_assume_50 = assume bounded<0, ?>, %assume_17 : tile<i32>
  %assume_assume_assume_51 = assume div_by<8>, %assume_assume_50 : tile<i32>
  %assume_assume_52 = assume bounded<0, ?>, %assume_18 : tile<i32>
  %assume_assume_assume_53 = assume div_by<8>, %assume_assume_52 : tile<i32>
  %tview_54 = make_tensor_view %assume_13, shape = [%assume_assume_assume_45, %assume_assume_assume_47, %assume_assume_assume_49], strides = [%assume_assume_assume_51, %assume_assume_assume_53, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_assume_55 = assume bounded<0, ?>, %assume_20 : tile<i32>
  %assume_assume_assume_56 = assume div_by<16>, %assume_assume_55 : tile<i32>
  %assume_assume_57 = assume bounded<0, ?>, %assume_21 : tile<i32>
  %assume_assume_assume_58 = assume div_by<16>, %assume_assume_57 : tile<i32>
  %assume_assume_59 = assume bounded<0, ?>, %assume_22 : tile<i32>
  %assume_assume_assume_60 = assume div_by<16>, %assume_assume_59 : tile<i32>
  %assume_assume_61 = assume bounded<0, ?>, %assume_23 : tile<i32>
  %assume_assume_assume_62 = assume div_by<8>, %assume_assume_61 : tile<i32>
  %assume_assume_63 = assume bounded<0, ?>, %assume_24 : tile<i32>
  %assume_assume_assume_64 = assume div_by<8>, %assume_assume_63 : tile<i32>
  %tview_65 = make_tensor_view %assume_19, shape = [%assume_assume_assume_56, %assume_assume_assume_58, %assume_assume_assume_60], strides = [%assume_assume_assume_62, %assume_assume_assume_64, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x128x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_y, %blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(1x128x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x128x64xf16>, token
  %reshape = reshape %tile : tile<1x128x64xf16> -> tile<128x64xf16>
  %pview_66 = make_partition_view %tview_43 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %1:3 = get_index_space_shape %pview_66 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>> -> tile<i32>
  %reshape_67 = reshape %cst_f32 : tile<f32> -> tile<1x1xf32>
  %bcast = broadcast %reshape_67 : tile<1x1xf32> -> tile<128x64xf32>
  %pview_68 = make_partition_view %tview_54 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %for:3 = for %loopIdx in (%cst_0_i32 to %1#1, step %cst_1_i32) : tile<i32> iter_values(%iterArg0 = %cst_0_f32, %iterArg1 = %cst_0_f32_0, %iterArg2 = %cst_f32_1) -> (tile<128x64xf32>, tile<128x1xf32>, tile<128x1xf32>) {
    %tile_72, %result_token_73 = load_view_tko weak %pview_66[%blockId_y, %loopIdx, %cst_0_i32] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %reshape_74 = reshape %tile_72 : tile<1x64x64xf16> -> tile<64x64xf16>
    %5 = permute %reshape_74 [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %6 = mmaf %reshape, %5, %cst_0_f32 : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    %7 = mulf %6, %bcast  : tile<128x64xf32>
    %reduce = reduce %7 dim=1 identities=[0xFF800000 : f32] : tile<128x64xf32> -> tile<128xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %17 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
      yield %17 : tile<f32>
    }
    %reshape_75 = reshape %reduce : tile<128xf32> -> tile<128x1xf32>
    %8 = maxf %iterArg2, %reshape_75 : tile<128x1xf32>
    %bcast_76 = broadcast %8 : tile<128x1xf32> -> tile<128x64xf32>
    %9 = subf %7, %bcast_76  : tile<128x64xf32>
    %10 = exp2 %9 : tile<128x64xf32>
    %11 = subf %iterArg2, %8  : tile<128x1xf32>
    %12 = exp2 %11 : tile<128x1xf32>
    %reduce_77 = reduce %10 dim=1 identities=[0.000000e+00 : f32] : tile<128x64xf32> -> tile<128xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %17 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %17 : tile<f32>
    }
    %reshape_78 = reshape %reduce_77 : tile<128xf32> -> tile<128x1xf32>
    %13 = fma %iterArg1, %12, %reshape_78  : tile<128x1xf32>
    %tile_79, %result_token_80 = load_view_tko weak %pview_68[%blockId_y, %loopIdx, %cst_0_i32] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %reshape_81 = reshape %tile_79 : tile<1x64x64xf16> -> tile<64x64xf16>
    %14 = ftof %10  : tile<128x64xf32> -> tile<128x64xf16>
    %bcast_82 = broadcast %12 : tile<128x1xf32> -> tile<128x64xf32>
    %15 = mulf %iterArg0, %bcast_82  : tile<128x64xf32>
    %16 = mmaf %14, %reshape_81, %15 : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %16, %13, %8 : tile<128x64xf32>, tile<128x1xf32>, tile<128x1xf32>
  }
  %bcast_69 = broadcast %for#1 : tile<128x1xf32> -> tile<128x64xf32>
  %2 = divf %for#0, %bcast_69  : tile<128x64xf32>
  %3 = ftof %2  : tile<128x64xf32> -> tile<128x64xf16>
  %reshape_70 = reshape %3 : tile<128x64xf16> -> tile<1x128x64xf16>
  %pview_71 = make_partition_view %tview_65 : partition_view<tile=(1x128x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %4 = store_view_tko weak %reshape_70, %pview_71[%blockId_y, %blockId_x, %cst_0_i32] token = %0 : tile<1x128x64xf16>, partition_view<tile=(1x128x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> token
  return
}
