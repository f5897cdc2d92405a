"""The language server, in the order in which the files import each other:

    document       a text that is edited: its reading, and positions as editors count them
    diagnostics    errors and warnings
    describe       what hover shows: operations, types, values, keywords
    navigation     definitions, references, renaming, outline, folding
    completion     completion and signature help
    tokens         semantic tokens and inlay types
    actions        formatting and code actions
    python         cuTile programs: the Tile IR of a kernel
    server         the connection to an editor; it needs pygls (`pip install 'tilery[lsp]'`)

Everything but `server` is a function of a `TextDocument` that returns the types of the protocol.
"""
