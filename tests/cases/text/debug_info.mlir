// RUN: tilery dis -g %s
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit, scopeLine = 1>
#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 2, column = 3>
entry @k(%x: tile<f32>) {
  %0 = addf %x, %x : tile<f32> loc(#cuda_tile.di_loc<loc("k.py":2:5) in #block>)
  %1 = mulf %0, %x : tile<f32> loc(callsite(#cuda_tile.di_loc<loc("k.py":9:1) in #sub> at #cuda_tile.di_loc<loc("k.py":3:7) in #sub>))
  return loc(unknown)
} loc(#cuda_tile.di_loc<loc("k.py":1:1) in #sub>)
// =>
// entry @k(%arg0: tile<f32>) {
//   %0 = addf %arg0, %arg0  : tile<f32> loc(#loc8)
//   %1 = mulf %0, %arg0  : tile<f32> loc(#loc9)
//   return loc(#loc4)
// } loc(#loc5)
// #di_file = #cuda_tile.di_file<"k.py" in "/src">
// #loc = loc("k.py":1:1)
// #loc1 = loc("k.py":2:5)
// #loc2 = loc("k.py":9:1)
// #loc3 = loc("k.py":3:7)
// #loc4 = loc(unknown)
// #di_compile_unit = #cuda_tile.di_compile_unit<file = #di_file>
// #di_subprogram = #cuda_tile.di_subprogram<file = #di_file, line = 1, name = "k", linkageName = "k", compileUnit = #di_compile_unit, scopeLine = 1>
// #di_lexical_block = #cuda_tile.di_lexical_block<scope = #di_subprogram, file = #di_file, line = 2, column = 3>
// #loc5 = #cuda_tile.di_loc<#loc in #di_subprogram>
// #loc6 = #cuda_tile.di_loc<#loc2 in #di_subprogram>
// #loc7 = #cuda_tile.di_loc<#loc3 in #di_subprogram>
// #loc8 = #cuda_tile.di_loc<#loc1 in #di_lexical_block>
// #loc9 = loc(callsite(#loc6 at #loc7))
