"""Analyses: facts about values and operations that passes, engines and tools share.

Each analysis takes an operation or a block and changes nothing. What it returns describes the IR as it was: compute it
again after an edit.

    uses        the users of each value
    liveness    the last use of each value, and the values that regions capture
    effects     which operations touch memory
    interfaces  traits, effects, inferred types, branches and loops of one operation
    tokens      which memory accesses are ordered by tokens, and which are not
    ranges      the least and greatest value of integers
    alignment   contiguity, divisibility and constancy of integers and pointers, per dimension
    memory      integers and addresses as sums of symbols and numbers; the memory that each access touches
    influence   which values depend on the position of the tile block, or on memory
    promises    promises that no address depends on
    flow        where results and arguments of control flow come from
    matching    which operations of two modules correspond
    dataflow    the solver that ranges and alignment share
"""
