"""Many inputs on every path of the core, each with a digest of everything that comes out.

The tests here notice that something changed, and not whether it is right: other tests know that. `digests.txt` has the
digests, `material.json.xz` the inputs. A change on purpose is accepted by `python scripts/digests.py bless`; what it
changes is shown by `python scripts/digests.py diff`.
"""
