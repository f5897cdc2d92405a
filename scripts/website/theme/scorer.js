// How the search ranks. Sphinx finds only pages that have all words of a question. Here each section is ranked by the words
// that it has, rare ones first (BM25F: in its text, its heading, the title of its page, and what links to it say), and a page
// by its best section and as a whole. `sections.py` made the index.
const PLACES = [
  ["tour/", 1.15], ["guides/", 1.15], ["quickstart", 1.15], ["commands", 1.1], ["appendix/", 0.5], ["reports/lab/", 0.4],
  ["reports/", 0.6], ["project/", 0.35], ["index", 0.6], ["features", 0.7], ["reference/lint/", 0.8], ["api/", 0.9],
];
const TITLE = 2; // mentions in the text that one in the title of the page counts as
const SYNONYM = 0.3, PARTIAL = 0.4; // another word for the same, and a longer word that has this one in it
const COVERAGE = 0.5; // how much of the score depends on the part of the question that is there
const PAGE = 0.4; // how much a page as a whole counts, beside its best section
const SATURATION = 1.2, LENGTH = 0.4; // the usual constants of BM25

const own = (table, word) => (Object.hasOwn(table, word) ? table[word] : []);

// The words that may stand for one of the question, and how much each counts.
function meant(index, word) {
  const known = Object.hasOwn(index.texts, word), words = new Map([[word, 1]]);
  if (!known && word.length > 3)
    for (const other of Object.keys(index.texts)) if (other.includes(word)) words.set(other, PARTIAL);
  if (!known) for (const part of word.split("_")) if (part.length > 1) words.set(part, words.get(part) ?? PARTIAL);
  for (const group of index.synonyms)
    if (group.includes(word)) for (const other of group) if (!words.has(other)) words.set(other, known ? SYNONYM : 1);
  return words;
}

// How often each section and each page has a word, or others that mean the same.
function counts(index, words) {
  const sections = new Map(), pages = new Map();
  const add = (found, key, count) => found.set(key, (found.get(key) ?? 0) + count);
  for (const [word, weight] of words) {
    const text = own(index.texts, word);
    for (let i = 0; i < text.length; i += 2) {
      add(sections, text[i], weight * text[i + 1]);
      add(pages, index.sections[text[i]][0], weight * text[i + 1]);
    }
    for (const page of own(index.inTitles, word)) {
      add(pages, page, weight * TITLE);
      for (let s = index.first[page]; index.sections[s]?.[0] === page; s++) add(sections, s, weight * TITLE);
    }
  }
  return [sections, pages];
}

// The scores of documents, which are sections or pages, for the counts of each word in them.
function relevance(found, lengths) {
  const total = lengths.length, mean = lengths.reduce((a, b) => a + b, 0) / total;
  const scores = new Map(), covered = new Map();
  let whole = 0;
  for (const counted of found) {
    const rarity = Math.log(1 + (total - counted.size + 0.5) / (counted.size + 0.5));
    whole += rarity;
    for (const [document, count] of counted) {
      const size = SATURATION * (1 - LENGTH + (LENGTH * lengths[document]) / mean);
      scores.set(document, (scores.get(document) ?? 0) + (rarity * count * (SATURATION + 1)) / (count + size));
      covered.set(document, (covered.get(document) ?? 0) + rarity);
    }
  }
  for (const [document, part] of covered)
    scores.set(document, scores.get(document) * (1 - COVERAGE + (COVERAGE * part) / whole));
  return scores;
}

function rank(words, excluded) {
  const index = Search._index;
  if (!index.first) {
    index.first = [];
    index.sections.forEach(([page], section) => (index.first[page] ??= section));
    index.sizes = index.docnames.map(() => 0);
    index.sections.forEach(([page], section) => (index.sizes[page] += index.lengths[section]));
  }
  const found = [...words].map((word) => counts(index, meant(index, word)));
  const pages = relevance(found.map(([, pages]) => pages), index.sizes), best = new Map();
  for (const [section, score] of relevance(found.map(([sections]) => sections), index.lengths)) {
    const page = index.sections[section][0];
    if (score > (best.get(page)?.score ?? 0)) best.set(page, { section, score });
  }
  const hidden = new Set([...excluded].flatMap((word) => [...counts(index, [[word, 1]])[1].keys()]));
  return [...best]
    .filter(([page]) => !hidden.has(page))
    .map(([page, { section, score }]) => {
      const [, anchor, heading] = index.sections[section], title = index.titles[page];
      const shown = anchor && heading !== title ? `${title} > ${heading}` : title;
      return [index.docnames[page], shown, anchor, null, score + PAGE * pages.get(page), index.filenames[page], "text"];
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
