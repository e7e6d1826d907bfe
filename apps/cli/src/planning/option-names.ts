/**
 * Replaces the field names in messages of the planner by the names of command line options. `bits`
 * and `hashes` are also ordinary words: they count as fields if a value follows, or if they stand
 * alone.
 */
export function optionNames(text: string): string {
  return text
    .replaceAll(
      /\b(?:falsePositiveRate|transmissionBits|maxMessageBytes|fitProbability|changedFraction)\b/g,
      named,
    )
    .replaceAll(/\b(?:maxHashes|maxBits)\b/g, named)
    .replaceAll(/\b(?:layout|goal|structure)(?= '|:)/g, named)
    .replaceAll(/\bgoal '(\w+)'/g, "--for '$1'")
    .replaceAll(/(?<![\d-] ?)\b(?:capacity|bits|hashes)\b(?= \d|:|,|$)/g, named)
    .replaceAll(/without capacity\b/g, 'without --capacity')
    .replaceAll(/(?<![\w.-]|\d,)\d{5,15}(?!\w|[.,]\d)/g, (digits) => Number(digits).toLocaleString('en-US'));
}

function named(field: string): string {
  return OPTIONS[field] ?? field;
}

const OPTIONS: Record<string, string> = {
  capacity: '--capacity',
  falsePositiveRate: '--rate',
  bits: '--bits',
  hashes: '--hashes',
  maxBits: '--max-bits',
  maxHashes: '--max-hashes',
  transmissionBits: '--message-bits',
  maxMessageBytes: '--message-bytes',
  fitProbability: '--fit',
  changedFraction: '--changed',
  goal: '--for',
  layout: '--layout',
  structure: '--structure',
};
