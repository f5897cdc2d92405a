// How the search ranks pages: guides and the tour before reference, measurements and history.
const PLACES = [
  ["tour/", 6], ["guides/", 5], ["quickstart", 4], ["commands", 4], ["memory-model", 3], ["bytecode", 3], ["stability", 3],
  ["reference/operations/", 2], ["api/", 2], ["appendix/", -6], ["reports/lab/", -5], ["reports/", -2], ["project/", -8],
  ["index", -4],
];
var Scorer = {
  score: ([name, title, anchor, description, score, file, kind]) => {
    const place = PLACES.find(([start]) => name.startsWith(start));
    const heading = kind === "title" ? 8 : 0; // it contains the whole question
    return score + heading + (place ? place[1] : 0);
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
