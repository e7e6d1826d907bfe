import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { AT_REST, afterSending, type PendingChanges, SEND_LIMITS, shouldSend } from './send-pacing.ts';

const NONE: PendingChanges = { size: 1000, additions: 0, deletions: 0, additionsSince: 0, deletionsSince: 0 };

describe('shouldSend', () => {
  test('waits for the next change when there is none', () => {
    expect(shouldSend(NONE, AT_REST, 5)).toEqual({ send: 'nothing', waitMs: Number.POSITIVE_INFINITY });
  });

  test('sends an addition when it is old', () => {
    const pending = { ...NONE, additions: 1, additionsSince: 100 };
    expect(shouldSend(pending, AT_REST, 200)).toEqual({ send: 'nothing', waitMs: 150 });
    expect(shouldSend(pending, AT_REST, 350)).toEqual({ send: 'additions', waitMs: 0 });
  });

  test('lets deletions wait longer, and sends them with everything else', () => {
    const pending = { ...NONE, additions: 1, deletions: 1, additionsSince: 100, deletionsSince: 100 };
    expect(shouldSend(pending, AT_REST, 350)).toEqual({ send: 'additions', waitMs: 0 });
    const left = { ...pending, additions: 0 };
    expect(shouldSend(left, { ...AT_REST, lastSentAt: 350 }, 350)).toEqual({ send: 'nothing', waitMs: 750 });
    expect(shouldSend(left, AT_REST, 1100)).toEqual({ send: 'all', waitMs: 0 });
    expect(shouldSend({ ...pending, additionsSince: 1090 }, AT_REST, 1100)).toMatchObject({ send: 'all' });
  });

  test('sends at once when a share of the keys has changed', () => {
    const pending = { ...NONE, additionsSince: 100, deletionsSince: 100 };
    expect(shouldSend({ ...pending, additions: 5, deletions: 4 }, AT_REST, 101).send).toBe('nothing');
    expect(shouldSend({ ...pending, additions: 5, deletions: 5 }, AT_REST, 101).send).toBe('all');
    expect(shouldSend({ ...pending, deletions: 10 }, AT_REST, 101).send).toBe('all');
    expect(shouldSend({ ...pending, size: 0, additions: 1 }, AT_REST, 101).send).toBe('additions');
  });

  test('keeps the pace and the cap', () => {
    const many = { ...NONE, additions: 500 };
    const limits = { ...SEND_LIMITS, bytesPerSecond: 10_000 };
    const pace = afterSending(AT_REST, 1000, 1000, limits);
    expect(pace).toEqual({ lastSentAt: 1000, freeAt: 1100 });
    expect(shouldSend(many, pace, 1000, limits)).toEqual({ send: 'nothing', waitMs: 250 });
    const slow = afterSending(pace, 20_000, 1250, limits);
    expect(shouldSend(many, slow, 1250, limits)).toEqual({ send: 'nothing', waitMs: 2000 });
    expect(afterSending(slow, 1000, 2000, limits).freeAt).toBe(3350); // after what is on its way
  });

  test.each([
    ['without a cap', Number.POSITIVE_INFINITY],
    ['under a cap', 4000],
  ])('over ten minutes of random changes the limits hold %s', (_, bytesPerSecond) => {
    const random = new Random(6);
    const limits = { ...SEND_LIMITS, bytesPerSecond };
    const end = 600_000;
    let pace = AT_REST;
    let [additions, deletions, additionsSince, deletionsSince] = [0, 0, 0, 0];
    const sent: { at: number; bytes: number }[] = [];
    const waited = { additions: 0, deletions: 0 };
    for (let now = 0, next = 0; now < end; ) {
      if (now >= next) {
        if (random.below(2) === 0) additionsSince = additions++ === 0 ? now : additionsSince;
        else deletionsSince = deletions++ === 0 ? now : deletionsSince;
        next = now + 1 + random.below(random.below(20) === 0 ? 5000 : 40);
      }
      const pending = { size: 10_000, additions, deletions, additionsSince, deletionsSince };
      const { send, waitMs } = shouldSend(pending, pace, now, limits);
      if (send === 'nothing') {
        now = Math.min(next, now + waitMs);
        continue;
      }
      const bytes = 50 + 2 * (additions + (send === 'all' ? deletions : 0));
      if (additions > 0) waited.additions = Math.max(waited.additions, now - additionsSince);
      additions = 0;
      if (send === 'all') {
        if (deletions > 0) waited.deletions = Math.max(waited.deletions, now - deletionsSince);
        deletions = 0;
      }
      pace = afterSending(pace, bytes, now, limits);
      sent.push({ at: now, bytes });
    }
    expect(sent.length).toBeGreaterThan(500);
    expect(sent.length).toBeLessThanOrEqual((4 * end) / 1000);
    for (let i = 1; i < sent.length; i++) expect(sent[i].at - sent[i - 1].at).toBeGreaterThanOrEqual(250);
    const total = sent.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(total).toBeLessThanOrEqual((bytesPerSecond * end) / 1000 + sent[sent.length - 1].bytes);
    if (bytesPerSecond === Number.POSITIVE_INFINITY) {
      // The oldest may just have missed a message, and the next one follows after the pace.
      expect(waited.additions).toBeLessThanOrEqual(500);
      expect(waited.deletions).toBeLessThanOrEqual(1250);
    }
  });
});
