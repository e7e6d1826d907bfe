import { expect, test } from 'vitest';
import { PurgeJournal, type PurgePosition } from './purge-journal.ts';
import { decodePosition, decodePurges, encodePosition, encodePurges } from './purge-message.ts';
import { PurgePositions } from './purge-positions.ts';

function journal(purges: number, kept = 4): PurgeJournal {
  const made = new PurgeJournal({ epoch: 'e', dropped: 0, keys: [] }, kept);
  for (let at = 1; at <= purges; at++) expect(made.add(`k${at}`)).toBe(at);
  return made;
}

/** Tells a node until the journal takes it for current. Returns the effects. */
function tell(from: PurgeJournal, to: PurgePositions, position: PurgePosition | null = null) {
  const removed: string[] = [];
  let resets = 0;
  let at = position;
  for (let round = 0; !from.isCurrent(at); round++) {
    expect(round).toBeLessThan(20);
    const message = decodePurges(encodePurges(from.messageFor(at)))!;
    const effect = to.effectOf('a', message);
    removed.push(...effect.keys);
    if (effect.mustValidateAll) resets++;
    if (effect.position.epoch === message.epoch) to.moveTo('a', effect.position);
    at = decodePosition(encodePosition(effect.position));
  }
  return { removed, resets };
}

test('a node is told each purge once, in order, and nothing while there is none', () => {
  const from = journal(0);
  const to = new PurgePositions();
  expect(from.isCurrent(null)).toBe(true);
  from.add('k1');
  from.add('k2');
  expect(tell(from, to)).toEqual({ removed: ['k1', 'k2'], resets: 0 });
  from.add('k3');
  expect(tell(from, to, { epoch: 'e', sequence: 2 })).toEqual({ removed: ['k3'], resets: 0 });
  // The neighbour is ahead of what this node believes: nothing is done twice.
  expect(tell(from, to, { epoch: 'e', sequence: 1 })).toEqual({ removed: [], resets: 0 });
});

test('a node that missed more than are kept validates everything, once', () => {
  const from = journal(2);
  const to = new PurgePositions();
  tell(from, to);
  for (let at = 3; at <= 10; at++) from.add(`k${at}`);
  expect(tell(from, to)).toEqual({ removed: ['k7', 'k8', 'k9', 'k10'], resets: 1 });
  from.add('k11');
  expect(tell(from, to)).toEqual({ removed: ['k11'], resets: 0 });
});

test('a new node validates everything only if purges were dropped before', () => {
  expect(tell(journal(4), new PurgePositions())).toMatchObject({ resets: 0 });
  expect(tell(journal(5), new PurgePositions())).toMatchObject({ resets: 1 });
});

test('both states survive JSON', () => {
  const from = journal(9);
  const to = new PurgePositions();
  tell(from, to);
  const again = new PurgeJournal(JSON.parse(JSON.stringify(from.state)), 4);
  const same = new PurgePositions(JSON.parse(JSON.stringify(to.state)));
  expect(again.add('k10')).toBe(10);
  expect(tell(again, same)).toEqual({ removed: ['k10'], resets: 0 });
});

test('long lists are sent in several messages', () => {
  const from = journal(600, 1024);
  expect(from.messageFor({ epoch: 'e', sequence: 0 }).keys).toHaveLength(256);
  expect(tell(from, new PurgePositions()).removed).toHaveLength(600);
  const large = journal(0);
  for (let at = 0; at < 3; at++) large.add('x'.repeat(60_000 + at));
  expect(tell(large, new PurgePositions()).removed).toHaveLength(3);
});

test('messages that are damaged or of a later version are not taken', () => {
  const bytes = encodePurges(journal(2).messageFor({ epoch: 'e', sequence: 0 }));
  for (let end = 0; end < bytes.length; end++) expect(decodePurges(bytes.subarray(0, end))).toBeNull();
  const message = { v: 1, epoch: 'e', after: 0, keys: ['k'], isReset: false };
  const decode = (change: object) => decodePurges(Buffer.from(JSON.stringify({ ...message, ...change })));
  expect(decode({})).not.toBeNull();
  for (const change of [
    { v: 2 },
    { epoch: 1 },
    { epoch: 'e'.repeat(65) },
    { after: -1 },
    { after: 0.5 },
    { keys: 'k' },
    { keys: [1] },
    { keys: [''] },
    { keys: Array.from({ length: 257 }, () => 'k') },
    { isReset: 1 },
  ])
    expect(decode(change), JSON.stringify(change).slice(0, 40)).toBeNull();
  for (const text of ['null', '[]', '{"v":1,"epoch":"e"}', '{"v":1,"epoch":"e","sequence":-1}'])
    expect(decodePosition(Buffer.from(text))).toBeNull();
});
