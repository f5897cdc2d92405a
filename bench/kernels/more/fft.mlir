entry @fft(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>, %arg7: tile<ptr<f32>>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<ptr<f32>>, %arg15: tile<i32>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<ptr<f32>>, %arg20: tile<i32>, %arg21: tile<i32>, %arg22: tile<i32>, %arg23: tile<i32>, %arg24: tile<ptr<f32>>, %arg25: tile<i32>, %arg26: tile<i32>, %arg27: tile<i32>, %arg28: tile<i32>, %arg29: tile<ptr<f32>>, %arg30: tile<i32>, %arg31: tile<i32>, %arg32: tile<i32>, %arg33: tile<i32>, %arg34: tile<ptr<f32>>, %arg35: tile<i32>, %arg36: tile<i32>, %arg37: tile<i32>, %arg38: tile<i32>, %arg39: tile<i32>, %arg40: tile<i32>, %arg41: tile<ptr<f32>>, %arg42: tile<i32>, %arg43: tile<i32>, %arg44: tile<i32>, %arg45: tile<i32>, %arg46: tile<i32>, %arg47: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg1 : tile<i32>
  %assume_1 = assume div_by<16>, %arg2 : tile<i32>
  %assume_2 = assume div_by<16>, %arg3 : tile<i32>
  %assume_3 = assume div_by<4>, %arg4 : tile<i32>
  %assume_4 = assume div_by<4>, %arg5 : tile<i32>
  %assume_5 = assume div_by<16>, %arg7 : tile<ptr<f32>>
  %assume_6 = assume div_by<16>, %arg8 : tile<i32>
  %assume_7 = assume div_by<16>, %arg9 : tile<i32>
  %assume_8 = assume div_by<16>, %arg10 : tile<i32>
  %assume_9 = assume div_by<4>, %arg11 : tile<i32>
  %assume_10 = assume div_by<4>, %arg12 : tile<i32>
  %assume_11 = assume div_by<16>, %arg14 : tile<ptr<f32>>
  %assume_12 = assume div_by<16>, %arg15 : tile<i32>
  %assume_13 = assume div_by<16>, %arg16 : tile<i32>
  %assume_14 = assume div_by<4>, %arg17 : tile<i32>
  %assume_15 = assume div_by<16>, %arg19 : tile<ptr<f32>>
  %assume_16 = assume div_by<16>, %arg20 : tile<i32>
  %assume_17 = assume div_by<16>, %arg21 : tile<i32>
  %assume_18 = assume div_by<4>, %arg22 : tile<i32>
  %assume_19 = assume div_by<16>, %arg24 : tile<ptr<f32>>
  %assume_20 = assume div_by<16>, %arg25 : tile<i32>
  %assume_21 = assume div_by<16>, %arg26 : tile<i32>
  %assume_22 = assume div_by<4>, %arg27 : tile<i32>
  %assume_23 = assume div_by<16>, %arg29 : tile<ptr<f32>>
  %assume_24 = assume div_by<16>, %arg30 : tile<i32>
  %assume_25 = assume div_by<16>, %arg31 : tile<i32>
  %assume_26 = assume div_by<4>, %arg32 : tile<i32>
  %assume_27 = assume div_by<16>, %arg34 : tile<ptr<f32>>
  %assume_28 = assume div_by<16>, %arg35 : tile<i32>
  %assume_29 = assume div_by<16>, %arg36 : tile<i32>
  %assume_30 = assume div_by<16>, %arg37 : tile<i32>
  %assume_31 = assume div_by<4>, %arg38 : tile<i32>
  %assume_32 = assume div_by<4>, %arg39 : tile<i32>
  %assume_33 = assume div_by<16>, %arg41 : tile<ptr<f32>>
  %assume_34 = assume div_by<16>, %arg42 : tile<i32>
  %assume_35 = assume div_by<16>, %arg43 : tile<i32>
  %assume_36 = assume div_by<16>, %arg44 : tile<i32>
  %assume_37 = assume div_by<4>, %arg45 : tile<i32>
  %assume_38 = assume div_by<4>, %arg46 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_39 = constant <i32: 1> : tile<i32>
  %cst_1_i32_40 = constant <i32: 1> : tile<i32>
  %cst_1_i32_41 = constant <i32: 1> : tile<i32>
  %cst_1_i32_42 = constant <i32: 1> : tile<i32>
  %cst_1_i32_43 = constant <i32: 1> : tile<i32>
  %cst_1_i32_44 = constant <i32: 1> : tile<i32>
  %cst_1_i32_45 = constant <i32: 1> : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<16>, %assume_assume : tile<i32>
  %assume_assume_46 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_assume_47 = assume div_by<16>, %assume_assume_46 : tile<i32>
  %assume_assume_48 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_49 = assume div_by<16>, %assume_assume_48 : tile<i32>
  %assume_assume_50 = assume bounded<0, ?>, %assume_3 : tile<i32>
  %assume_assume_assume_51 = assume div_by<4>, %assume_assume_50 : tile<i32>
  %assume_assume_52 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_53 = assume div_by<4>, %assume_assume_52 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_assume_assume, %assume_assume_assume_47, %assume_assume_assume_49], strides = [%assume_assume_assume_51, %assume_assume_assume_53, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %assume_assume_54 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_55 = assume div_by<16>, %assume_assume_54 : tile<i32>
  %assume_assume_56 = assume bounded<0, ?>, %assume_7 : tile<i32>
  %assume_assume_assume_57 = assume div_by<16>, %assume_assume_56 : tile<i32>
  %assume_assume_58 = assume bounded<0, ?>, %assume_8 : tile<i32>
  %assume_assume_assume_59 = assume div_by<16>, %assume_assume_58 : tile<i32>
  %assume_assume_60 = assume bounded<0, ?>, %assume_9 : tile<i32>
  %assume_assume_assume_61 = assume div_by<4>, %assume_assume_60 : tile<i32>
  %assume_assume_62 = assume bounded<0, ?>, %assume_10 : tile<i32>
  %assume_assume_assume_63 = assume div_by<4>, %assume_assume_62 : tile<i32>
  %tview_64 = make_tensor_view %assume_5, shape = [%assume_assume_assume_55, %assume_assume_assume_57, %assume_assume_assume_59], strides = [%assume_assume_assume_61, %assume_assume_assume_63, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %assume_assume_65 = assume bounded<0, ?>, %assume_12 : tile<i32>
  %assume_assume_assume_66 = assume div_by<16>, %assume_assume_65 : tile<i32>
  %assume_assume_67 = assume bounded<0, ?>, %assume_13 : tile<i32>
  %assume_assume_assume_68 = assume div_by<16>, %assume_assume_67 : tile<i32>
  %assume_assume_69 = assume bounded<0, ?>, %assume_14 : tile<i32>
  %assume_assume_assume_70 = assume div_by<4>, %assume_assume_69 : tile<i32>
  %tview_71 = make_tensor_view %assume_11, shape = [%assume_assume_assume_66, %assume_assume_assume_68], strides = [%assume_assume_assume_70, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_assume_72 = assume bounded<0, ?>, %assume_16 : tile<i32>
  %assume_assume_assume_73 = assume div_by<16>, %assume_assume_72 : tile<i32>
  %assume_assume_74 = assume bounded<0, ?>, %assume_17 : tile<i32>
  %assume_assume_assume_75 = assume div_by<16>, %assume_assume_74 : tile<i32>
  %assume_assume_76 = assume bounded<0, ?>, %assume_18 : tile<i32>
  %assume_assume_assume_77 = assume div_by<4>, %assume_assume_76 : tile<i32>
  %tview_78 = make_tensor_view %assume_15, shape = [%assume_assume_assume_73, %assume_assume_assume_75], strides = [%assume_assume_assume_77, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_assume_79 = assume bounded<0, ?>, %assume_20 : tile<i32>
  %assume_assume_assume_80 = assume div_by<16>, %assume_assume_79 : tile<i32>
  %assume_assume_81 = assume bounded<0, ?>, %assume_21 : tile<i32>
  %assume_assume_assume_82 = assume div_by<16>, %assume_assume_81 : tile<i32>
  %assume_assume_83 = assume bounded<0, ?>, %assume_22 : tile<i32>
  %assume_assume_assume_84 = assume div_by<4>, %assume_assume_83 : tile<i32>
  %tview_85 = make_tensor_view %assume_19, shape = [%assume_assume_assume_80, %assume_assume_assume_82], strides = [%assume_assume_assume_84, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_assume_86 = assume bounded<0, ?>, %assume_24 : tile<i32>
  %assume_assume_assume_87 = assume div_by<16>, %assume_assume_86 : tile<i32>
  %assume_assume_88 = assume bounded<0, ?>, %assume_25 : tile<i32>
  %assume_assume_assume_89 = assume div_by<16>, %assume_assume_88 : tile<i32>
  %assume_assume_90 = assume bounded<0, ?>, %assume_26 : tile<i32>
  %assume_assume_assume_91 = assume div_by<4>, %assume_assume_90 : tile<i32>
  %tview_92 = make_tensor_view %assume_23, shape = [%assume_assume_assume_87, %assume_assume_assume_89], strides = [%assume_assume_assume_91, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_assume_93 = assume bounded<0, ?>, %assume_28 : tile<i32>
  %assume_assume_assume_94 = assume div_by<16>, %assume_assume_93 : tile<i32>
  %assume_assume_95 = assume bounded<0, ?>, %assume_29 : tile<i32>
  %assume_assume_assume_96 = assume div_by<16>, %assume_assume_95 : tile<i32>
  %assume_assume_97 = assume bounded<0, ?>, %assume_30 : tile<i32>
  %assume_assume_assume_98 = assume div_by<16>, %assume_assume_97 : tile<i32>
  %assume_assume_99 = assume bounded<0, ?>, %assume_31 : tile<i32>
  %assume_assume_assume_100 = assume div_by<4>, %assume_assume_99 : tile<i32>
  %assume_assume_101 = assume bounded<0, ?>, %assume_32 : tile<i32>
  %assume_assume_assume_102 = assume div_by<4>, %assume_assume_101 : tile<i32>
  %tview_103 = make_tensor_view %assume_27, shape = [%assume_assume_assume_94, %assume_assume_assume_96, %assume_assume_assume_98], strides = [%assume_assume_assume_100, %assume_assume_assume_102, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %assume_assume_104 = assume bounded<0, ?>, %assume_34 : tile<i32>
  %assume_assume_assume_105 = assume div_by<16>, %assume_assume_104 : tile<i32>
  %assume_assume_106 = assume bounded<0, ?>, %assume_35 : tile<i32>
  %assume_assume_assume_107 = assume div_by<16>, %assume_assume_106 : tile<i32>
  %assume_assume_108 = assume bounded<0, ?>, %assume_36 : tile<i32>
  %assume_assume_assume_109 = assume div_by<16>, %assume_assume_108 : tile<i32>
  %assume_assume_110 = assume bounded<0, ?>, %assume_37 : tile<i32>
  %assume_assume_assume_111 = assume div_by<4>, %assume_assume_110 : tile<i32>
  %assume_assume_112 = assume bounded<0, ?>, %assume_38 : tile<i32>
  %assume_assume_assume_113 = assume div_by<4>, %assume_assume_112 : tile<i32>
  %tview_114 = make_tensor_view %assume_33, shape = [%assume_assume_assume_105, %assume_assume_assume_107, %assume_assume_assume_109], strides = [%assume_assume_assume_111, %assume_assume_assume_113, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_0_i32_115 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32, %cst_0_i32_115] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf32>, token
  %reshape = reshape %tile : tile<1x64x64xf32> -> tile<64x64xf32>
  %cst_0_i32_116 = constant <i32: 0> : tile<i32>
  %cst_0_i32_117 = constant <i32: 0> : tile<i32>
  %pview_118 = make_partition_view %tview_64 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %tile_119, %result_token_120 = load_view_tko weak %pview_118[%blockId_x, %cst_0_i32_116, %cst_0_i32_117] token = %0 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf32>, token
  %reshape_121 = reshape %tile_119 : tile<1x64x64xf32> -> tile<64x64xf32>
  %cst_0_i32_122 = constant <i32: 0> : tile<i32>
  %cst_0_i32_123 = constant <i32: 0> : tile<i32>
  %pview_124 = make_partition_view %tview_71 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile_125, %result_token_126 = load_view_tko weak %pview_124[%cst_0_i32_122, %cst_0_i32_123] token = %0 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<64x64xf32>, token
  %cst_0_i32_127 = constant <i32: 0> : tile<i32>
  %cst_0_i32_128 = constant <i32: 0> : tile<i32>
  %pview_129 = make_partition_view %tview_78 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile_130, %result_token_131 = load_view_tko weak %pview_129[%cst_0_i32_127, %cst_0_i32_128] token = %0 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<64x64xf32>, token
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %1 = mmaf %tile_125, %reshape, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %2 = mmaf %tile_130, %reshape_121, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %3 = subf %1, %2  : tile<64x64xf32>
  %4 = mmaf %tile_125, %reshape_121, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %5 = mmaf %tile_130, %reshape, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %6 = addf %4, %5  : tile<64x64xf32>
  %cst_0_i32_132 = constant <i32: 0> : tile<i32>
  %cst_0_i32_133 = constant <i32: 0> : tile<i32>
  %pview_134 = make_partition_view %tview_85 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile_135, %result_token_136 = load_view_tko weak %pview_134[%cst_0_i32_132, %cst_0_i32_133] token = %0 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<64x64xf32>, token
  %cst_0_i32_137 = constant <i32: 0> : tile<i32>
  %cst_0_i32_138 = constant <i32: 0> : tile<i32>
  %pview_139 = make_partition_view %tview_92 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile_140, %result_token_141 = load_view_tko weak %pview_139[%cst_0_i32_137, %cst_0_i32_138] token = %0 : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<64x64xf32>, token
  %7 = mulf %6, %tile_140  : tile<64x64xf32>
  %8 = negf %7 : tile<64x64xf32>
  %9 = fma %3, %tile_135, %8  : tile<64x64xf32>
  %10 = mulf %6, %tile_135  : tile<64x64xf32>
  %11 = fma %3, %tile_140, %10  : tile<64x64xf32>
  %12 = mmaf %9, %tile_125, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %13 = mmaf %11, %tile_130, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %14 = subf %12, %13  : tile<64x64xf32>
  %15 = mmaf %9, %tile_130, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %16 = mmaf %11, %tile_125, %cst_0_f32 : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %17 = addf %15, %16  : tile<64x64xf32>
  %cst_0_i32_142 = constant <i32: 0> : tile<i32>
  %cst_0_i32_143 = constant <i32: 0> : tile<i32>
  %18 = permute %14 [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  %reshape_144 = reshape %18 : tile<64x64xf32> -> tile<1x64x64xf32>
  %pview_145 = make_partition_view %tview_103 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %19 = store_view_tko weak %reshape_144, %pview_145[%blockId_x, %cst_0_i32_142, %cst_0_i32_143] token = %0 : tile<1x64x64xf32>, partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> token
  %cst_0_i32_146 = constant <i32: 0> : tile<i32>
  %cst_0_i32_147 = constant <i32: 0> : tile<i32>
  %20 = permute %17 [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  %reshape_148 = reshape %20 : tile<64x64xf32> -> tile<1x64x64xf32>
  %pview_149 = make_partition_view %tview_114 : partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>
  %21 = store_view_tko weak %reshape_148, %pview_149[%blockId_x, %cst_0_i32_146, %cst_0_i32_147] token = %0 : tile<1x64x64xf32>, partition_view<tile=(1x64x64), tensor_view<?x?x?xf32, strides=[?,?,1]>>, tile<i32> -> token
  return
}
