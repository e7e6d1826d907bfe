/** The tables of results/reconcile.md. */

export interface Cell {
  readonly n: number;
  readonly d: number;
  readonly sessions: number;
  readonly exact: number;
  readonly bytes: number;
  readonly p99: number;
  readonly trips: number;
  readonly tripsP90: number;
  readonly cpuMs: number;
  readonly method: string;
  readonly best: Readonly<Record<'symbols8' | 'symbols13' | 'filter' | 'list', number>>;
  /** Symbols of the width that sessions take. */
  readonly narrow?: number;
}

export interface Kept {
  readonly n: number;
  readonly d: number;
  readonly sessions: number;
  readonly exact: number;
  readonly bytes: number;
  readonly p90: number;
  readonly p99: number;
  readonly trips: number;
  /** The part of the sessions with one round trip after that of the hello. */
  readonly oneTrip: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

export interface Rival {
  readonly name: string;
  readonly n: number;
  readonly d: number;
  readonly bytes: number;
  readonly trips: number | null;
  readonly exact: boolean;
  readonly cpuMs: number;
  readonly ourBytes: number;
  readonly ourCpuMs: number;
  readonly load: number;
}

export interface Report {
  readonly cells: Cell[];
  readonly kept: Kept[];
  readonly rivals: Rival[];
}

const whole = (value: number) => Math.round(value).toLocaleString('en-US');
const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;

function excess({ bytes, best }: Cell): number {
  return bytes / Math.min(...Object.values(best)) - 1;
}

export function reportText({ cells, kept, rivals }: Report): string {
  const fresh = cells.filter((cell) => cell.narrow !== undefined);
  const missed = fresh.filter((cell) => excess(cell) > 0.1);
  const sessions = cells.reduce((sum, cell) => sum + cell.sessions, 0);
  const exact = cells.reduce((sum, cell) => sum + cell.exact, 0);
  return `# Reconciliation

Written by \`npm --prefix bench run reconcile -- --write\`. Two sets of n keys differ in d keys, half of them on each side. Bytes are those of
both directions, with all framing; a session is carried as over a link with a long delay, so that nothing is saved by a quick stop. Round
trips count that of the hello and that of the verdict. CPU is processor time of both sides together, hashing included, with other load on the
machine. ${whole(exact)} of ${whole(sessions)} sessions of the grid were exact.

**The best method** is what each method alone would take if d, its luck and the best filter were known beforehand, with its own framing
(head of \`bench/reconcile/best-method.ts\`): symbols of 8 and of 13 bytes, filters and symbols of 8 bytes, lists. No session can know that.
Sessions have symbols of 5 to 7 bytes as well, which the best method does not: the column *narrow* has what they would take alone, if d were known.
Rows with – in that column are from before these symbols, and not counted.
${missed.length} of ${fresh.length} cells are more than 10 % above it${missed.length === 0 ? '' : `: ${missed.map(({ n, d, bytes, best }) => `n ${whole(n)}, d ${whole(d)} (by ${whole(bytes - Math.min(...Object.values(best)))} bytes)`).join('; ')}`}.

${[
  row([
    'n',
    'd',
    'bytes',
    'p99',
    'best',
    'above',
    'symbols 8',
    'symbols 13',
    'narrow',
    'filter',
    'list',
    'trips',
    'p90',
    'method',
    'CPU ms',
  ]),
  row(Array.from({ length: 15 }, () => '---:')),
  ...cells.map((cell) =>
    row([
      whole(cell.n),
      whole(cell.d),
      whole(cell.bytes),
      whole(cell.p99),
      whole(Math.min(...Object.values(cell.best))),
      `${(100 * excess(cell)).toFixed(0)} %`,
      whole(cell.best.symbols8),
      whole(cell.best.symbols13),
      cell.narrow === undefined ? '–' : whole(cell.narrow),
      whole(cell.best.filter),
      whole(cell.best.list),
      cell.trips,
      cell.tripsP90,
      cell.method,
      cell.cpuMs.toFixed(1),
    ]),
  ),
].join('\n')}

## Sets that keep their symbols

Two \`KeySet\`s with one secret. The last column but two is the part of the sessions with one round trip after that of the hello.

${[
  row(['n', 'd', 'sessions', 'exact', 'bytes', 'p90', 'p99', 'trips', 'one trip', 'CPU ms', 'wall ms']),
  row(Array.from({ length: 11 }, () => '---:')),
  ...kept.map((each) =>
    row([
      whole(each.n),
      whole(each.d),
      each.sessions,
      each.exact,
      whole(each.bytes),
      whole(each.p90),
      whole(each.p99),
      each.trips,
      `${(100 * each.oneTrip).toFixed(1)} %`,
      each.cpuMs.toFixed(2),
      each.wallMs.toFixed(2),
    ]),
  ),
].join('\n')}

## Others

In turn with our own sessions, each in a process of its own, the first round of each left out. @peerbit/riblt 1.2.0 has symbols of 17 bytes, and
gets no framing here. Negentropy is the JavaScript of nostr-tools 2.25.2, which does not export it; ids have 32 bytes, and differences lie at random
times. Its side that hears a list of ids does not answer it, so its bytes are a lower bound.

${[
  row(['', 'n', 'd', 'bytes', 'ours', 'exact', 'CPU ms', 'ours', 'ratio', 'load']),
  row(['---', ...Array.from({ length: 9 }, () => '---:')]),
  ...rivals.map((each) =>
    row([
      each.name,
      whole(each.n),
      whole(each.d),
      whole(each.bytes),
      whole(each.ourBytes),
      each.exact ? 'yes' : 'no',
      each.cpuMs.toFixed(0),
      each.ourCpuMs.toFixed(1),
      (each.cpuMs / each.ourCpuMs).toFixed(1),
      each.load,
    ]),
  ),
].join('\n')}
`;
}
