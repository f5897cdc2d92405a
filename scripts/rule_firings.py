"""Count how often each rule of `canonicalize` fires on random modules.

    python scripts/rule_firings.py [--count 10000] [--seed 0] [--jobs 2] [--least 50]

The exit status is 1 if a rule fires less often than `--least` says.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import checkout
from support.firings import firings, rule_names, table
from tilery.cli.progress import progress


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="how many modules; default: 10000")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first module")
    parser.add_argument("--jobs", type=int, default=2, help="processes to use")
    parser.add_argument("--least", type=int, default=50, help="how often each rule must fire; default: 50")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(args.jobs) as pool, progress(args.count, "modules") as step:
        for found in pool.map(firings, range(args.seed, args.seed + args.count), chunksize=20):
            total += found
            step()
    counts = {name: total[name] for name in rule_names()}
    checkout.publish("\n".join(table(counts)), None)
    return int(any(count < args.least for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
