" Syntax of CUDA Tile IR. Made by scripts/editors/grammars.py; do not edit.
if exists("b:current_syntax") | finish | endif
syntax iskeyword @,48-57,_,$,.
syntax keyword tileirOperation absf absi addf addi alloca andi assert assume atan2 atomic_cas_tko atomic_red_view_tko atomic_rmw_tko
syntax keyword tileirOperation bitcast break broadcast cat ceil cmpf cmpi constant continue cos cosh cuda_tile.absf
syntax keyword tileirOperation cuda_tile.absi cuda_tile.addf cuda_tile.addi cuda_tile.alloca cuda_tile.andi cuda_tile.assert cuda_tile.assume cuda_tile.atan2 cuda_tile.atomic_cas_tko cuda_tile.atomic_red_view_tko cuda_tile.atomic_rmw_tko cuda_tile.bitcast
syntax keyword tileirOperation cuda_tile.break cuda_tile.broadcast cuda_tile.cat cuda_tile.ceil cuda_tile.cmpf cuda_tile.cmpi cuda_tile.constant cuda_tile.continue cuda_tile.cos cuda_tile.cosh cuda_tile.divf cuda_tile.divi
syntax keyword tileirOperation cuda_tile.entry cuda_tile.exp cuda_tile.exp2 cuda_tile.exti cuda_tile.extract cuda_tile.floor cuda_tile.fma cuda_tile.for cuda_tile.fpowf cuda_tile.fpowi cuda_tile.ftof cuda_tile.ftoi
syntax keyword tileirOperation cuda_tile.gdc_launch_dependents_tko cuda_tile.gdc_wait_tko cuda_tile.get_global cuda_tile.get_index_space_shape cuda_tile.get_num_tile_blocks cuda_tile.get_tensor_shape cuda_tile.get_tile_block_id cuda_tile.global cuda_tile.if cuda_tile.insert cuda_tile.int_to_ptr cuda_tile.iota
syntax keyword tileirOperation cuda_tile.itof cuda_tile.join_tokens cuda_tile.load_ptr_tko cuda_tile.load_view_tko cuda_tile.log cuda_tile.log2 cuda_tile.loop cuda_tile.make_gather_scatter_view cuda_tile.make_partition_view cuda_tile.make_strided_view cuda_tile.make_tensor_view cuda_tile.make_token
syntax keyword tileirOperation cuda_tile.maxf cuda_tile.maxi cuda_tile.memory_fence_alias_tko cuda_tile.minf cuda_tile.mini cuda_tile.mmaf cuda_tile.mmaf_scaled cuda_tile.mmai cuda_tile.module cuda_tile.mulf cuda_tile.mulhii cuda_tile.muli
syntax keyword tileirOperation cuda_tile.negf cuda_tile.negi cuda_tile.offset cuda_tile.ori cuda_tile.pack cuda_tile.permute cuda_tile.pow cuda_tile.print cuda_tile.print_tko cuda_tile.ptr_to_int cuda_tile.ptr_to_ptr cuda_tile.reduce
syntax keyword tileirOperation cuda_tile.remf cuda_tile.remi cuda_tile.reshape cuda_tile.return cuda_tile.rsqrt cuda_tile.scan cuda_tile.select cuda_tile.shli cuda_tile.shri cuda_tile.sin cuda_tile.sinh cuda_tile.sqrt
syntax keyword tileirOperation cuda_tile.store_ptr_tko cuda_tile.store_view_tko cuda_tile.subf cuda_tile.subi cuda_tile.tan cuda_tile.tanh cuda_tile.trunci cuda_tile.unpack cuda_tile.xori cuda_tile.yield divf divi
syntax keyword tileirOperation entry exp exp2 exti extract floor fma for fpowf fpowi ftof ftoi
syntax keyword tileirOperation gdc_launch_dependents_tko gdc_wait_tko get_global get_index_space_shape get_num_tile_blocks get_tensor_shape get_tile_block_id global if insert int_to_ptr iota
syntax keyword tileirOperation itof join_tokens load_ptr_tko load_view_tko log log2 loop make_gather_scatter_view make_partition_view make_strided_view make_tensor_view make_token
syntax keyword tileirOperation maxf maxi memory_fence_alias_tko minf mini mmaf mmaf_scaled mmai module mulf mulhii muli
syntax keyword tileirOperation negf negi offset ori pack permute pow print print_tko ptr_to_int ptr_to_ptr reduce
syntax keyword tileirOperation remf remi reshape return rsqrt scan select shli shri sin sinh sqrt
syntax keyword tileirOperation store_ptr_tko store_view_tko subf subi tan tanh trunci unpack xori yield
syntax keyword tileirType bf16 f16 f32 f4E2M1FN f64 f8E4M3FN f8E5M2 f8E8M0FNU fnv8E5M3FNU gather_scatter_view i1 i16
syntax keyword tileirType i32 i4 i64 i8 partition_view ptr strided_view tensor_view tf32 tile token
syntax keyword tileirEnum acq_rel acquire add and approx device equal full greater_than greater_than_or_equal less_than less_than_or_equal
syntax keyword tileirEnum max min nan nearest_away nearest_even nearest_int_to_zero neg_inf neg_zero negative_inf no_signed_wrap no_unsigned_wrap no_wrap
syntax keyword tileirEnum none not_equal or ordered pos_inf positive_inf private public relaxed release signed sys
syntax keyword tileirEnum tl_blk umax umin unordered unsigned weak xchg xor zero
syntax keyword tileirKeyword alignment along array at attributes bounded callsite dense dim dim_map div_by else
syntax keyword tileirKeyword every false fast_acc flush_to_zero fused identities in inbounds iter_values loc num_elem optimization_hints
syntax keyword tileirKeyword overflow padding_value propagate_nan reverse rounding same_elements saturating shape sparse_dim step strides to
syntax keyword tileirKeyword traversal_strides true unit unknown
syntax match tileirNumber /-\?\<\(0x\x\+\|\d\+\(\.\d*\([eE][-+]\?\d\+\)\?\)\?\)/
syntax match tileirNumber /x\@<=\d\+\(x\|>\)\@=/
syntax match tileirElement /x\@<=\(ptr\|[a-z]\+\d\w*\)/
syntax match tileirValue /%[A-Za-z0-9$._-]\+\(#\d\+\)\?/
syntax match tileirSymbol /@[A-Za-z_][A-Za-z0-9_$.]*/
syntax match tileirAlias /[#!][A-Za-z_][A-Za-z0-9_$.-]*/
syntax region tileirString start=/"/ skip=/\\./ end=/"/ oneline
syntax match tileirComment /\/\/.*$/ contains=@Spell
highlight default link tileirOperation Statement
highlight default link tileirType Type
highlight default link tileirElement Type
highlight default link tileirEnum Constant
highlight default link tileirKeyword Keyword
highlight default link tileirNumber Number
highlight default link tileirValue Identifier
highlight default link tileirSymbol Function
highlight default link tileirAlias PreProc
highlight default link tileirString String
highlight default link tileirComment Comment
let b:current_syntax = "tileir"
