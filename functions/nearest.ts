/** Edits between two words, by one row of the usual table. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** The words that somebody may have meant, the closest first; none that has little in common with what was typed. */
export const nearest = (typed: string, words: readonly string[], most = 1): readonly string[] => {
  const wanted = typed.slice(0, 200).toLowerCase()
  const tolerance = (word: string): number => Math.max(2, Math.ceil(Math.max(wanted.length, word.length) / 3))
  return words
    .filter((word) => Math.abs(word.length - wanted.length) <= tolerance(word) && word.length <= 400)
    .map((word) => ({ word, edits: distance(wanted, word.toLowerCase()) }))
    .filter(({ word, edits }) => edits <= tolerance(word))
    .sort((a, b) => a.edits - b.edits || (a.word < b.word ? -1 : 1))
    .slice(0, most)
    .map(({ word }) => word)
}
