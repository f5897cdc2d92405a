// A producer sends two numbers with one flag; the consumer's second wait ends at once, as the flag is set from before.
// run: --grid 2 --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:2
cuda_tile.module @m { entry @k(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %start = make_token : token
  %is_first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  %is_second = cmpi equal %b, %c1, signed : tile<i32> -> tile<i1>
  if %is_first {
    %sent = for %i in (%c0 to %c2, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
      %t1 = store_ptr_tko weak %data, %i token=%t0 : tile<ptr<i32>>, tile<i32> -> token  // fault: race
      %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
      // fixed: %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token %taken = loop : token { %f, %ta = load_ptr_tko acquire device %flag token=%t2 : tile<ptr<i32>> -> tile<i32>, token %empty = cmpi equal %f, %c0, signed : tile<i32> -> tile<i1> if %empty { break %ta : token } continue }
      continue %t2 : token
      // fixed: continue %taken : token
    }
  }
  if %is_second {
    %got = for %i in (%c0 to %c2, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
      %full = loop : token {
        %f, %ta = load_ptr_tko acquire device %flag token=%t0 : tile<ptr<i32>> -> tile<i32>, token
        %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
        if %set {
          break %ta : token
        }
        continue
      }
      %v, %t1 = load_ptr_tko weak %data token=%full : tile<ptr<i32>> -> tile<i32>, token  // other: race
      %to = offset %out, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t2 = store_ptr_tko weak %to, %v token=%t1 : tile<ptr<i32>>, tile<i32> -> token
      // fixed: %ts = store_ptr_tko weak %to, %v token=%t1 : tile<ptr<i32>>, tile<i32> -> token %t2 = store_ptr_tko release device %flag, %c0 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
      continue %t2 : token
    }
  }
  return
} }
