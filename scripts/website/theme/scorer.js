// How the search ranks pages. Sphinx finds only pages that have all words of a question, and counts a frequent word as
// much as a rare one. Here a page needs some of the words; rare ones count more (BM25, with headings as a second field).
const PLACES = [
  ["tour/", 1.15], ["guides/", 1.15], ["quickstart", 1.15], ["commands", 1.1], ["appendix/", 0.5], ["reports/lab/", 0.5],
  ["reports/", 0.7], ["project/", 0.35], ["index", 0.6], ["features", 0.7],
];
const HEADING = 4; // a heading counts as many mentions
const PARTIAL = 0.4; // a part of a longer word counts less
const SATURATION = 1.2, LENGTH = 0.6; // the usual constants of BM25

const listed = (table, word) => (Object.hasOwn(table, word) ? [table[word]].flat() : []);

// Pages with a word, and how often it counts there: once for the text, more for a heading.
function mentions(word, index) {
  const found = new Map();
  const add = (files, weight) => files.forEach((file) => found.set(file, (found.get(file) ?? 0) + weight));
  for (const [table, weight] of [[index.terms, 1], [index.titleterms, HEADING]]) {
    const whole = listed(table, word);
    if (whole.length) add(whole, weight);
    else if (word.length > 3) {
      const files = Object.keys(table).filter((term) => term.includes(word)).flatMap((term) => listed(table, term));
      add([...new Set(files)], weight * PARTIAL);
    }
  }
  return found;
}

// The number of different words of each page.
function lengths(index) {
  if (!index.lengths) {
    index.lengths = index.docnames.map(() => 0);
    for (const word of Object.keys(index.terms)) for (const file of listed(index.terms, word)) index.lengths[file] += 1;
  }
  return index.lengths;
}

function rank(words, excluded) {
  const index = Search._index, sizes = lengths(index), pages = sizes.length;
  const mean = sizes.reduce((a, b) => a + b, 0) / pages;
  const scores = new Map();
  let all = 0;
  for (const word of words) {
    const found = mentions(word, index);
    const rarity = Math.log(1 + (pages - found.size + 0.5) / (found.size + 0.5));
    if (found.size) all += rarity;
    for (const [file, count] of found) {
      const size = SATURATION * (1 - LENGTH + (LENGTH * sizes[file]) / mean);
      const [score, matched] = scores.get(file) ?? [0, 0];
      scores.set(file, [score + (rarity * count * (SATURATION + 1)) / (count + size), matched + rarity]);
    }
  }
  const hidden = new Set([...excluded].flatMap((word) => [...mentions(word, index).keys()]));
  return [...scores]
    .filter(([file, [, matched]]) => !hidden.has(file) && matched > all / 4)
    .map(([file, [score, matched]]) => [
      index.docnames[file], index.titles[file], "", null, (score * matched) / all, index.filenames[file], "text",
    ]);
}

document.addEventListener("DOMContentLoaded", () => (Search.performTermsSearch = rank));

var Scorer = {
  score: ([name, title, anchor, description, score, file, kind]) => {
    const place = PLACES.find(([start]) => name.startsWith(start));
    const heading = kind === "title" ? 8 : 0; // it contains the whole question
    return (score + heading) * (place ? place[1] : 1);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
