"""A reading of text that forgets nothing, in the order in which the files import each other:

    tokens      tokens and the blanks and comments between them
    chunks      where functions and other items of a text start
    recover     parse a chunk past its errors; a statement that cannot be read costs only itself
    reading     a whole text: all errors, a partial module; unchanged chunks are taken from an earlier reading
    tree        the spans of each operation: name, results, operands, types, attributes, regions
    scopes      definitions and uses of names
    layout      how tokens are written: blanks, line breaks, comments
    format      format a text, or a range of its lines

The fast path of the parser knows nothing of this. A reading runs the piecewise parser and keeps what it saw.
"""
