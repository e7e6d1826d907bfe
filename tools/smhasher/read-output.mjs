// Reads what SMHasher3 prints with --time-tests, and writes it as a page. Each test ends with a
// line `Elapsed: 4.34 seconds [SeedBlockLen 30]`; between two of these lines, `!!!!!` marks a
// failure. The last line of a run gives the time that it took; a run without it was interrupted.

/**
 * @typedef {{ tests: number, failed: string[], seconds: number, verification: string | null }} Outcome
 */

/**
 * The outcome of one group of tests, or null if the run did not come to its end.
 *
 * @param {string} text
 * @returns {Outcome | null}
 */
export function readOutput(text) {
  const took = /Testing took ([\d.]+) seconds/.exec(text);
  if (took === null) return null;
  const sections = text.split(/^(Elapsed: .*)$/m);
  /** @type {string[]} */
  const failed = [];
  let tests = 0;
  for (let i = 1; i < sections.length; i += 2) {
    tests++;
    const [, group, name] = /\[([^\t\]]+)\t?([^\]]*)\]/.exec(sections[i]) ?? [];
    if (sections[i - 1].includes('!!!!!')) failed.push(name || group);
  }
  const verification = /Verification value \w+ 0x([0-9A-F]{8}) \.+ PASS/.exec(text)?.[1] ?? null;
  return { tests, failed, seconds: Number(took[1]), verification };
}

/**
 * A page with a row for each group and a column for each hash. A group without an outcome was not
 * run.
 *
 * @param {string[]} about
 * @param {readonly string[]} groups
 * @param {Record<string, Record<string, Outcome | null>>} hashes
 */
export function pageOf(about, groups, hashes) {
  const names = Object.keys(hashes);
  const cell = (/** @type {Outcome | null | undefined} */ outcome) => {
    if (outcome === null || outcome === undefined) return 'not run';
    const { tests, failed } = outcome;
    return failed.length === 0
      ? `${tests} passed`
      : `**${failed.length} of ${tests} failed**: ${failed.join(', ')}`;
  };
  const total = (/** @type {string} */ name) => {
    const outcomes = groups
      .map((group) => hashes[name][group])
      .filter((outcome) => outcome !== null && outcome !== undefined);
    const tests = outcomes.reduce((sum, { tests }) => sum + tests, 0);
    const failed = outcomes.reduce((sum, { failed }) => sum + failed.length, 0);
    return `${tests - failed} of ${tests} passed, ${outcomes.length} of ${groups.length} groups run`;
  };
  const verified = (/** @type {string} */ name) =>
    groups.map((group) => hashes[name][group]?.verification).find(Boolean) ?? 'not run';
  const rows = [
    ['verification value', ...names.map(verified)],
    ...groups.map((group) => [group, ...names.map((name) => cell(hashes[name][group]))]),
    ['all', ...names.map(total)],
  ];
  const table = [['', ...names], names.map(() => '---').concat('---'), ...rows];
  return `# Hashes in SMHasher3\n\n${about.join('\n\n')}\n\n${table.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}
