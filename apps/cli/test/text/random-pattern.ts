/** Random regular expressions in the two syntaxes of grep, with words of the corpus. */

import type { Random } from '@bloomery/testkit/statistics';

const LITERALS = [
  'connection',
  'timeout',
  'Exception',
  'refused',
  'id=',
  'kernel: eth0',
  'index\\.html',
  'ession',
  'user ad',
  'T /',
  '10\\.',
  'e',
  '7',
];
const SETS = [
  '[0-9]',
  '[a-f0-9]',
  '[^ ]',
  '[[:alpha:]]',
  '.',
  '[tT]',
  '[[:space:]]',
  '\\w',
  '\\s',
  '\\S',
  '[]x-]',
];

export function randomPattern(random: Random, extended: boolean): string {
  const op = (operator: string) => (extended ? operator : `\\${operator}`);
  const choice = (depth: number): string => {
    const count = random.below(4) === 0 ? 2 + random.below(2) : 1;
    return Array.from({ length: count }, () => sequence(depth)).join(op('|'));
  };
  const sequence = (depth: number): string =>
    Array.from({ length: 1 + random.below(3) }, () => repeated(depth)).join('');
  const repeated = (depth: number): string => {
    const kind = random.below(10);
    if (kind < 4) return random.pick(LITERALS);
    if (kind === 4) return random.pick(['\\<', '\\b', '\\>', '\\B']);
    const one = depth > 0 && kind > 7 ? `${op('(')}${choice(depth - 1)}${op(')')}` : random.pick(SETS);
    return `${one}${random.pick(['', '', '*', op('+'), op('?'), interval()])}`;
  };
  const interval = () => {
    const least = random.below(4);
    const body = random.pick([`${least}`, `${least},`, `${least},${least + random.below(3)}`]);
    return extended ? `{${body}}` : `\\{${body}\\}`;
  };
  const start = random.below(8) === 0 ? '^' : '';
  const end = random.below(8) === 0 ? '$' : '';
  return `${start}${sequence(2)}${end}${random.below(5) === 0 ? `${op('|')}${choice(1)}` : ''}`;
}
