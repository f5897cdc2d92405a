"""A module to text, in the order in which the files import each other:

    attributes             the text of attributes, locations and debug information
    names, aliases         the names of values; the aliases of locations
    parts                  the parts of an operation's text, and the context for printing it
    custom, generic        operations written by hand, and in MLIR's generic form
    lines, styles          the line of any operation by its format; the styles
    quick_lines, quick     the fast path: generated functions name results and make lines in one pass
    printer                the entry points: `show`, `show_styled`, `show_with_offsets`
    highlight              text with colours

To print in another style, pass a `styles.Style` to `printer.show_styled`; other names for values are a parameter too.
"""
