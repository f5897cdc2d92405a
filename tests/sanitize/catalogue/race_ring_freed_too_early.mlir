// A ring buffer's slot is freed before it has been read.
// run: --grid 2 --arg zeros:i32:2 --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:8
cuda_tile.module @m { entry @k(%ring: tile<ptr<i32>>, %tail: tile<ptr<i32>>, %head: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %n = constant <i32: 6> : tile<i32>
  %start = make_token : token
  %producer = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %producer {
    %done = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
      %least = subi %i, %c1 : tile<i32>
      %room = loop : token {
        %h, %ta = load_ptr_tko acquire device %head : tile<ptr<i32>> -> tile<i32>, token
        %ok = cmpi greater_than_or_equal %h, %least, signed : tile<i32> -> tile<i1>
        if %ok {
          break %ta : token
        }
        continue
      }
      %both = join_tokens %t0, %room : token
      %slot = remi %i, %c2 signed : tile<i32>
      %p = offset %ring, %slot : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t1 = store_ptr_tko weak %p, %i token=%both : tile<ptr<i32>>, tile<i32> -> token  // fault: race: two tile blocks // cause: it is released by store_ptr_tko, but no token leads to that from the other access
      %next = addi %i, %c1 : tile<i32>
      %t2 = store_ptr_tko release device %tail, %next token=%t1 : tile<ptr<i32>>, tile<i32> -> token
      continue %t2 : token
    }
  } else {
    %done = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
      %full = loop : token {
        %h, %ta = load_ptr_tko acquire device %tail : tile<ptr<i32>> -> tile<i32>, token
        %ok = cmpi greater_than %h, %i, signed : tile<i32> -> tile<i1>
        if %ok {
          break %ta : token
        }
        continue
      }
      %both = join_tokens %t0, %full : token
      %slot = remi %i, %c2 signed : tile<i32>
      %p = offset %ring, %slot : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t2 = load_ptr_tko weak %p token=%both : tile<ptr<i32>> -> tile<i32>, token  // other: race
      %q = offset %out, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t3 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
      %next = addi %i, %c1 : tile<i32>
      %t4 = store_ptr_tko release device %head, %next token=%both : tile<ptr<i32>>, tile<i32> -> token
      // fixed: %t4 = store_ptr_tko release device %head, %next token=%t2 : tile<ptr<i32>>, tile<i32> -> token
      continue %t4 : token
    }
  }
  return
} }
