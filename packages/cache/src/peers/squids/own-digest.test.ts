import { expectBinomial } from '@bloomery/testkit/statistics';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { SquidDigest, squidKey } from 'bloomery/formats/squid';
import { describe, expect, test } from 'vitest';
import { SlicedWork } from '../sliced-work.ts';
import { type BuiltDigest, OwnDigest, type OwnDigestOptions } from './own-digest.ts';
import { SquidKeys } from './squid-keys.ts';

const url = (i: number) => `http://example.org/${i}`;

function start(options: Partial<OwnDigestOptions> = {}) {
  const clock = new VirtualClock();
  const keys = new SquidKeys();
  const digest = new OwnDigest({
    clock,
    work: new SlicedWork(clock),
    keys,
    others: async () => [],
    complete: Promise.resolve(),
    bitsPerEntry: 8,
    ...options,
  });
  /** The digest that comes within a time, or null. */
  const built = async (stepMs = 1): Promise<BuiltDigest | null> => {
    let result: BuiltDigest | null = null;
    void digest.current().then((made) => {
      result = made;
    });
    for (let i = 0; i < 100 && result === null; i++) await clock.advance(stepMs);
    return result;
  };
  return { clock, keys, digest, built };
}

const decoded = (built: BuiltDigest | null) => SquidDigest.decode(built!.bytes);

describe('OwnDigest', () => {
  test('has a digest before anything is stored, which Squid accepts', async () => {
    const made = decoded(await start().built());
    expect(made.onesCount()).toBe(0);
    expect(made.useful).toBe(true);
  });

  test.each([5, 8, 16])(
    'of %i bits per entry follows the store, with the rate of its density',
    async (bits) => {
      const { clock, keys, built } = start({ bitsPerEntry: bits });
      for (const count of [1, 300, 20_000]) {
        for (let i = 0; i < count; i++) keys.keep(url(i), clock.now() + 3_600_000);
        const made = decoded(await built());
        expect(made.capacity).toBe(Math.max(256, count));
        expect(made.useful).toBe(true);
        for (let i = 0; i < count; i++) expect(made.has(url(i))).toBe(true);
        let wrong = 0;
        for (let i = 0; i < 50_000; i++) if (made.has(`http://absent.example/${i}`)) wrong++;
        expectBinomial(wrong, 50_000, (made.onesCount() / made.bits) ** 4, `${bits} bits, ${count} keys`);
        await clock.advance(10_000);
      }
    },
  );

  test('leaves out responses that become stale within its life of 10 s', async () => {
    const { clock, keys, built } = start();
    await clock.advance(500_000);
    keys.keep(url(1), clock.now() + 10_000);
    keys.keep(url(2), clock.now() + 12_000);
    const made = await built();
    expect(made!.objects).toBe(1);
    expect([1, 2].map((i) => decoded(made).has(url(i)))).toEqual([false, true]);
    expect(made!.expiresAt - made!.builtAt).toBe(10_000);
  });

  test('is used again for 10 s, and then built again', async () => {
    const { clock, keys, built } = start();
    keys.keep(url(1), clock.now() + 3_600_000);
    const first = await built();
    keys.keep(url(2), clock.now() + 3_600_000);
    expect(await built()).toBe(first);
    await clock.advance(10_000);
    expect((await built())!.objects).toBe(2);
  });

  test('waits until the store was read, but not for long', async () => {
    let complete = () => {};
    const { keys, built, clock } = start({
      complete: new Promise<void>((resolve) => {
        complete = resolve;
      }),
    });
    expect(await built(40)).toBe(null);
    keys.keep(url(1), clock.now() + 3_600_000);
    complete();
    expect((await built())!.objects).toBe(1);
    const never = start({ complete: new Promise<void>(() => {}) });
    expect((await never.built(60))!.objects).toBe(0);
  });

  test('has the keys of the other workers', async () => {
    const { clock, keys, built } = start({ others: async () => [squidKey(url(2)), new Uint8Array()] });
    keys.keep(url(1), clock.now() + 3_600_000);
    const made = await built();
    expect(made!.objects).toBe(2);
    expect([1, 2].map((i) => decoded(made).has(url(i)))).toEqual([true, true]);
  });

  test('is built again after a failure', async () => {
    let fails = true;
    const { digest, built, clock } = start({
      others: async () => {
        if (fails) throw new Error('Cannot read the keys: expected an answer, got none');
        return [];
      },
    });
    const failed = expect(digest.current()).rejects.toThrow('Cannot read the keys');
    await clock.advance(100);
    await failed;
    fails = false;
    expect(await built()).not.toBe(null);
  });
});
