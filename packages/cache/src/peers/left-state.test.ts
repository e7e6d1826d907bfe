import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { LeftState } from './left-state.ts';
import { SlicedWork } from './sliced-work.ts';

function start(sizes: (number | Error)[]) {
  const clock = new VirtualClock();
  const left: number[] = [];
  const failures: unknown[] = [];
  const state = new LeftState({
    work: new SlicedWork(clock),
    *full() {
      const size = sizes.shift() ?? 0;
      yield;
      if (size instanceof Error) throw size;
      return new Uint8Array(size);
    },
    leave: ({ length }) => left.push(length),
    failed: (error) => failures.push(error),
  });
  const publish = async (bytes: number) => {
    state.published(bytes);
    await clock.advance(10);
  };
  return { state, clock, publish, left, failures };
}

test('LeftState leaves a state first, and again after as many bytes as it has', async () => {
  const { publish, left } = start([10_000, 20_000, 1]);
  await publish(100);
  expect(left).toEqual([10_000]);
  await publish(9_999);
  expect(left).toEqual([10_000]);
  await publish(1);
  expect(left).toEqual([10_000, 20_000]);
  await publish(19_999);
  expect(left).toEqual([10_000, 20_000]);
});

test('LeftState waits for 4 KiB after a small state, and builds one at a time', async () => {
  const { state, clock, publish, left } = start([10, 10, 10]);
  state.published(1);
  state.published(1);
  await clock.advance(10);
  expect(left).toEqual([10]);
  await publish(4095);
  expect(left).toEqual([10]);
  await publish(1);
  expect(left).toEqual([10, 10]);
});

test('LeftState tries again with the next message after a failure', async () => {
  const { publish, left, failures } = start([new Error('no'), 10]);
  await publish(1);
  expect([left, failures.length]).toEqual([[], 1]);
  await publish(1);
  expect(left).toEqual([10]);
});
