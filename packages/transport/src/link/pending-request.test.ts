import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { isErrorCode, PendingRequests, requestError, type Settle } from './pending-request.ts';

function started() {
  const clock = new VirtualClock();
  const requests = new PendingRequests(clock);
  const controller = new AbortController();
  let settle: Settle = () => {};
  const told: string[] = [];
  const promise = requests.run('b', { timeoutMs: 100, signal: controller.signal }, (end) => {
    settle = end;
    return () => told.push('given up');
  });
  promise.then(
    (body) => told.push(`body ${body.join(' ')}`),
    (error) => told.push(error.code),
  );
  return { clock, requests, controller, settle, told };
}

test('PendingRequests ends a request once, with what comes first', async () => {
  const { clock, requests, controller, settle, told } = started();
  settle({ body: Uint8Array.of(1) });
  settle({ refused: 'failed' });
  controller.abort();
  requests.close();
  await clock.advance(200);
  expect(told).toEqual(['body 1']);
  expect(clock.pending).toBe(0);
});

test('PendingRequests gives a request up at its deadline, by its signal and when it closes', async () => {
  const late = started();
  await late.clock.advance(100);
  expect(late.told).toEqual(['given up', 'timeout']);
  const aborted = started();
  aborted.controller.abort();
  await aborted.clock.advance(0);
  expect(aborted.told).toEqual(['given up', 'aborted']);
  const closed = started();
  closed.requests.close();
  await closed.clock.advance(0);
  expect(closed.told).toEqual(['given up', 'closed']);
  await expect(closed.requests.run('b', { timeoutMs: 1 }, () => () => {})).rejects.toThrow('closed');
});

test('PendingRequests gives up a request that ended while it started', async () => {
  const requests = new PendingRequests(new VirtualClock());
  let isGivenUp = false;
  const promise = requests.run('b', { timeoutMs: 100 }, (settle) => {
    settle({ refused: 'size' });
    return () => void (isGivenUp = true);
  });
  await expect(promise).rejects.toThrow(
    'Cannot ask a neighbour: expected at most 8388608 bytes, got more (b)',
  );
  expect(isGivenUp).toBe(true);
});

test('requestError carries the code, the address and the cause', () => {
  const cause = new Error('why');
  expect(requestError('clock', 'http://b', cause)).toMatchObject({ code: 'clock', peer: 'http://b', cause });
  expect([isErrorCode('clock'), isErrorCode('toString'), isErrorCode('')]).toEqual([true, false, false]);
});
