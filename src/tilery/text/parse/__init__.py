"""Text to a module, in the order in which the files import each other:

    state                    the one Parser object: tokens, position, options, names, aliases, errors
    tasks                    recursion without the Python stack
    dimensions, types        `tile<4xf32>`
    literals, dense          numbers and constants
    leaves, locations        attributes without others inside, locations
    attributes               all attributes, dictionaries, aliases
    names, regions           `%a`, `@f`, the arguments of regions
    keywords, fields         a parser for each piece of a format string
    custom, forms, generic   the text after an operation's name: by hand, from its format, in MLIR's generic form
    operations               operations and their regions: the piecewise parser
    fast                     the fast path: canonical lines by generated functions
    parser                   the entry points: `parse`, `parse_with_spans`

Every concern is a set of functions on a `Parser`. To accept other spellings, pass `state.Extensions` to
`parser.parse_with_spans`: more operations by name, a function that replaces tokens, a parser of further attributes,
labels after the arguments of a region. An operation's parser is a `state.Syntax`; `fields.piece_parsers` and
`forms.builder` make one from a format string of your own.
"""
