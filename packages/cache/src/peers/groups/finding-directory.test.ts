import { expect, test } from 'vitest';
import type { KeyedHash, NeighbourDirectory, NeighbourPlan } from '../neighbour-port.ts';
import { FindingDirectory } from './finding-directory.ts';

const HASHES: readonly KeyedHash[] = [
  { keyId: 1, low: 10, high: 11 },
  { keyId: 2, low: 20, high: 21 },
];
const HOLDER = { id: 'far', address: 'http://far', keyId: 2, score: 'more than is plain' };
const EMPTY: NeighbourPlan = { asks: [], afterwards: 'owner', why: 'no candidate' };

function directory(
  plan: NeighbourPlan,
  find: (hash: KeyedHash, timeoutMs: number) => Promise<string | null>,
) {
  const hub = {
    plan: () => plan,
    find: (node: string) => (node === 'far' ? HOLDER : null),
  } as unknown as NeighbourDirectory;
  return new FindingDirectory({ hub, finder: { find }, commonHash: (all) => all[1]!, budgetMs: 250 });
}

test('FindingDirectory asks for a holder where no summary lists the object, and for a fifth of the budget', async () => {
  const asked: unknown[] = [];
  const made = directory(EMPTY, async (...question) => {
    asked.push(question);
    return 'far';
  });
  expect(await made.plan(HASHES)).toEqual({
    ...EMPTY,
    why: 'no candidate; holder http://far',
    holder: {
      neighbour: { id: 'far', address: 'http://far', keyId: 2 },
      headDeadlineMs: 100,
      hedgeAfterMs: null,
    },
  });
  expect(asked).toEqual([[HASHES[1], 50]]);
  expect(made.finds).toEqual({ questions: 1, named: 1 });
});

test('FindingDirectory leaves other plans as they are', async () => {
  const none = directory(EMPTY, async () => null);
  expect(await none.plan(HASHES)).toEqual(EMPTY);
  // A node that is down, or this one, is no neighbour that could be asked.
  const gone = directory(EMPTY, async () => 'gone');
  expect(await gone.plan(HASHES)).toEqual(EMPTY);
  expect(gone.finds).toEqual({ questions: 1, named: 0 });
  const never = async () => expect.unreachable('the finder was asked');
  expect(await directory(EMPTY, never).plan(HASHES, true)).toEqual(EMPTY);
  const listed: NeighbourPlan = {
    ...EMPTY,
    asks: [{ neighbour: HOLDER, headDeadlineMs: 20, hedgeAfterMs: null }],
  };
  expect(await directory(listed, never).plan(HASHES)).toEqual(listed);
});
