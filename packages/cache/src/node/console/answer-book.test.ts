import { expect, test } from 'vitest';
import { AnswerBook, busiestOf } from './answer-book.ts';
import { AnswerRecorder, type LocalAnswer } from './answer-recorder.ts';

const answer = (at: number, url: string) => ({ at, url }) as LocalAnswer;
const recorder = (showsUrls: boolean) =>
  new AnswerRecorder({ clock: () => 0, objectKey: new Uint8Array(32), showsUrls: () => showsUrls });
const record = (url: string, more: object = {}) => ({
  at: 5,
  client: '10.0.0.1',
  method: 'GET',
  url,
  status: 200,
  outcome: 'hit' as const,
  reason: '',
  bytesOut: 3,
  bytesFromOrigin: 0,
  durationMs: 1.26,
  aborted: false,
  ...more,
});

test('AnswerBook numbers the answers of several processes in the order of time', () => {
  const book = new AnswerBook();
  book.take(
    new Map([
      [0, { count: 2, answers: [answer(1, 'a'), answer(4, 'd')] }],
      [1, { count: 2, answers: [answer(2, 'b'), answer(3, 'c')] }],
    ]),
  );
  expect(book.all().answers.map(({ id, url }) => `${id}${url}`)).toEqual(['1a', '2b', '3c', '4d']);
  expect([book.knownOf(0), book.knownOf(1), book.lastId]).toEqual([2, 2, 4]);
  // 300 more came, of which the process kept 2 that are told.
  book.take(new Map([[0, { count: 302, answers: [answer(8, 'y'), answer(9, 'z')] }]]));
  expect(book.after(4, 20)).toMatchObject({ answers: [{ id: 303 }, { id: 304 }], skipped: 298 });
  expect(book.after(303, 20)).toMatchObject({ answers: [{ id: 304 }], skipped: 0 });
  // A worker that was restarted counts from zero, and ids go on.
  book.forget(0);
  book.take(new Map([[0, { count: 1, answers: [answer(10, 'n')] }]]));
  expect(book.after(304)).toMatchObject({ answers: [{ id: 305, url: 'n' }], skipped: 0 });
});

test('AnswerBook keeps the last 200', () => {
  const book = new AnswerBook();
  const local = recorder(true);
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 90; i++) local.add(record(`http://o/${round * 90 + i}`));
    book.take(new Map([[0, local.part(book.knownOf(0))]]));
  }
  const { answers } = book.all();
  expect([answers.length, answers[0]!.id, answers.at(-1)!.url]).toEqual([200, 251, 'http://o/449']);
});

test('AnswerRecorder shows a URL as the access log does, or not at all', () => {
  const url = 'http://user:pass@o/path?token=secret#x';
  const [shown, hidden] = [recorder(true), recorder(false)];
  for (const each of [shown, hidden])
    each.add(record(url, { outcome: 'miss', neighbours: 'x'.repeat(9999) }));
  const [open] = shown.part(0).answers;
  expect(open).toMatchObject({ url: 'http://o/path?token=…', durationMs: 1.3, isAborted: false });
  expect(open!.neighbours).toHaveLength(2000);
  expect(JSON.stringify(open)).not.toMatch(/10\.0\.0\.1|pass|secret/);
  const [closed] = hidden.part(0).answers;
  expect(closed).toMatchObject({ url: null, object: expect.stringMatching(/^[0-9a-f]{12}$/) });
  expect(closed!.object).toBe(open!.object);
  // A URL with a secret has no name in the list of busiest objects.
  expect(shown.busyPart().objects).toEqual([{ url: null, object: open!.object, count: 1, atLeast: 1 }]);
});

test('AnswerRecorder names objects by another hash under another key', () => {
  const other = new AnswerRecorder({
    clock: () => 0,
    objectKey: new Uint8Array(32).fill(1),
    showsUrls: () => false,
  });
  expect(other.objectName('http://o/')).not.toBe(recorder(false).objectName('http://o/'));
});

test('AnswerRecorder counts no tunnels and no refusals as objects', () => {
  const local = recorder(true);
  local.add(record('o:443', { outcome: 'tunnel' }));
  local.add(record('anything', { outcome: 'refused' }));
  expect([local.busyPart().total, local.part(0).answers.map(({ object }) => object)]).toEqual([
    0,
    [null, null],
  ]);
});

test('AnswerRecorder finds Cache-Status in the fields of a plain hit', () => {
  const local = recorder(false);
  local.add(
    record('a', { fields: ['Age', '1', 'Cache-Status', 'inner; hit', 'Cache-Status', 'n; hit; ttl=5'] }),
  );
  local.add(record('b', { cacheStatus: 'n; fwd=uri-miss' }));
  expect(local.part(0).answers.map(({ cacheStatus }) => cacheStatus)).toEqual([
    'n; hit; ttl=5',
    'n; fwd=uri-miss',
  ]);
});

test('busiestOf cuts the lists of several processes at the share of the whole', () => {
  const object = (name: string, count: number) => ({ url: null, object: name, count, atLeast: count });
  const busiest = busiestOf([
    { since: 5, total: 10_000, objects: [object('a', 900), object('b', 60)] },
    { since: 3, total: 100, objects: [object('c', 50), object('d', 51)] },
  ]);
  expect(busiest).toMatchObject({ v: 1, since: 3, total: 10_100, threshold: 0.005 });
  expect(busiest.objects.map(({ object: name }) => name)).toEqual(['a', 'b', 'd']);
});

test('busiestOf lists 20 objects, and says how many more have the share', () => {
  const objects = Array.from({ length: 25 }, (_, i) => ({
    url: null,
    object: `o${i}`,
    count: 100 - i,
    atLeast: 100 - i,
  }));
  const busiest = busiestOf([{ since: 0, total: 2200, objects }]);
  expect([busiest.objects.length, busiest.objects.at(-1)?.count, busiest.more]).toEqual([20, 81, 5]);
  expect(busiestOf([{ since: 0, total: 2200, objects: objects.slice(0, 20) }]).more).toBe(0);
});
