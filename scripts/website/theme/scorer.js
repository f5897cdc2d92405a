// How the search ranks. Sphinx finds only pages that have all words of a question. Here each section is ranked by the words
// that it has, rare ones first (BM25 with three fields: text, its heading, the title of its page), and a page by its best
// section and a part of the others. `sections.py` made the index.
const PLACES = [
  ["tour/", 1.15], ["guides/", 1.15], ["quickstart", 1.15], ["commands", 1.1], ["appendix/", 0.5], ["reports/lab/", 0.4],
  ["reports/", 0.6], ["project/", 0.35], ["index", 0.6], ["features", 0.7], ["reference/lint/", 0.8], ["api/", 0.9],
];
const HEADING = 3, TITLE = 3; // mentions in the text that one there counts as
const SYNONYM = 0.4, PARTIAL = 0.4; // another word for the same, and a longer word that has this one in it
const REST = 0.25; // how much of a page's other sections counts
const SATURATION = 1.2, LENGTH = 0.5; // the usual constants of BM25

const own = (table, word) => (Object.hasOwn(table, word) ? table[word] : []);

// How often each section has a word.
function counts(index, word, found) {
  const add = (section, count) => found.set(section, (found.get(section) ?? 0) + count);
  const text = own(index.texts, word);
  for (let i = 0; i < text.length; i += 2) add(text[i], text[i + 1]);
  for (const section of own(index.headings, word)) {
    add(section, HEADING);
    const page = index.sections[section][0];
    if (index.first[page] === section) for (let s = section; index.sections[s]?.[0] === page; s++) add(s, TITLE);
  }
}

// The words that may stand for one of the question, and how much each counts.
function meant(index, word) {
  const known = (other) => Object.hasOwn(index.texts, other) || Object.hasOwn(index.headings, other);
  const words = new Map([[word, 1]]);
  if (!known(word) && word.length > 3)
    for (const other of Object.keys(index.texts)) if (other.includes(word)) words.set(other, PARTIAL);
  for (const group of index.synonyms)
    if (group.includes(word)) for (const other of group) if (!words.has(other)) words.set(other, known(word) ? SYNONYM : 1);
  return words;
}

// What a word adds to the score of each section that has it.
function relevance(index, word) {
  const found = new Map(), total = index.sections.length;
  counts(index, word, found);
  const rarity = Math.log(1 + (total - found.size + 0.5) / (found.size + 0.5));
  for (const [section, count] of found) {
    const size = SATURATION * (1 - LENGTH + (LENGTH * index.lengths[section]) / index.mean);
    found.set(section, (rarity * count * (SATURATION + 1)) / (count + size));
  }
  return found;
}

function rank(words, excluded) {
  const index = Search._index, total = index.sections.length;
  if (!index.first) {
    index.first = [];
    index.sections.forEach(([page], section) => (index.first[page] ??= section));
    index.mean = index.lengths.reduce((a, b) => a + b, 0) / total;
  }
  const scores = new Float64Array(total);
  for (const word of words) {
    const best = new Map();
    for (const [other, weight] of meant(index, word))
      for (const [section, score] of relevance(index, other)) best.set(section, Math.max(best.get(section) ?? 0, weight * score));
    for (const [section, score] of best) scores[section] += score;
  }
  const pages = new Map();
  scores.forEach((score, section) => {
    if (!score) return;
    const page = index.sections[section][0];
    const best = pages.get(page) ?? { score: 0, section, rest: 0 };
    if (score > best.score) pages.set(page, { score, section, rest: best.rest + best.score });
    else best.rest += score, pages.set(page, best);
  });
  const hidden = new Set();
  for (const word of excluded) {
    const found = new Map();
    counts(index, word, found);
    for (const section of found.keys()) hidden.add(index.sections[section][0]);
  }
  return [...pages]
    .filter(([page]) => !hidden.has(page))
    .map(([page, { score, section, rest }]) => {
      const [, anchor, heading] = index.sections[section], title = index.titles[page];
      const shown = anchor && heading !== title ? `${title} > ${heading}` : title;
      return [index.docnames[page], shown, anchor, null, score + REST * Math.log1p(rest), index.filenames[page], "text"];
    });
}

// The search may start with the event that the page is there, so whoever listens to that comes too late.
Search.performTermsSearch = rank;

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
