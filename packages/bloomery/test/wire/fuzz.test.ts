import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { inBothKernels } from '../contracts/subject.ts';
import { FRAME_SUBJECTS, fuzzReader } from '../fuzz-frames.ts';

// The full form, ten million rounds each, is `node tools/fuzz.mjs`.
inBothKernels('everything that reads bytes of our own', (kernel) => {
  test.each(FRAME_SUBJECTS)('$name: a typed error, or the same bytes again', (subject) => {
    const rounds = withEffort(kernel === 'wasm' ? 2000 : 500);
    const { accepted, refused } = fuzzReader(subject, rounds, 5);
    expect(accepted + refused).toBe(rounds);
    // Unchanged bytes are read: the rounds above did not refuse everything.
    expect(() => subject.read(subject.file)).not.toThrow();
  });
});
