/**
 * The objects of the comparison: URLs of packages as a mirror has them, 102 bytes on average, and a
 * share of them replaced by others. Both follow from their numbers, so every run and every rival
 * gets the same ones.
 */

/** URLs before and after, both sorted, and the differences. */
export interface Replacement {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

const SECTIONS = ['main', 'contrib', 'non-free', 'universe'];
const MACHINES = ['amd64', 'arm64', 'all', 'i386'];

/** The URL with this number. */
function packageUrl(number: number): string {
  const mixed = mix(number);
  const name = `${word(mixed)}-${word(mix(mixed + 1))}${mixed % 5 === 0 ? '-dev' : ''}`;
  const version = `${(mixed >>> 3) % 12}.${(mixed >>> 7) % 40}.${number % 100_000}`;
  const section = SECTIONS[(mixed >>> 5) % SECTIONS.length];
  const machine = MACHINES[(mixed >>> 11) % MACHINES.length];
  return `http://deb.debian.org/debian/pool/${section}/${name[0]}/${name}/${name}_${version}-${1 + (mixed % 9)}_${machine}.deb`;
}

/**
 * `count` objects of which a share is replaced. `round` gives the later states of one population:
 * each round takes out the next objects and puts in new ones.
 */
export function replace(count: number, share: number, round = 0): Replacement {
  const changes = Math.round(count * share);
  const numbers = (from: number) => {
    const list: string[] = [];
    for (let i = from; i < from + count; i++) list.push(packageUrl(i));
    return list.sort();
  };
  const range = (from: number) => Array.from({ length: changes }, (_, i) => packageUrl(from + i));
  const start = round * changes;
  return {
    // Sorted when they are asked for: a million URLs take a second.
    get before() {
      return numbers(start);
    },
    get after() {
      return numbers(start + changes);
    },
    removed: range(start),
    added: range(start + count),
  };
}

function word(seed: number): string {
  const letters = 'etaoinshrdlucmfwypvbgkjqxz';
  let text = '';
  let state = seed;
  for (let i = 0; i < 4 + (seed % 9); i++) {
    state = mix(state + i);
    text += letters[Math.floor(26 * (state / 2 ** 32) ** 2)];
  }
  return text;
}

function mix(value: number): number {
  let h = (value + 0x9e3779b9) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
