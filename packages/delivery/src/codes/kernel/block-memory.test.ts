import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { BlockProgram, PROGRAM_WORDS } from './block-memory.ts';
import { makeBlocks } from './make-blocks.ts';

test.each([16, 48, 1024])('the kernels leave the same bytes, in slots of %i bytes', (bytes) => {
  const random = new Random(bytes);
  for (let round = 0; round < withEffort(10, 4); round++) {
    const slots = 2 + random.below(40);
    const both = (['wasm', 'javascript'] as const).map((kernel) => makeBlocks(bytes, slots, kernel));
    const model: Uint8Array[] = [];
    for (let slot = 0; slot < slots; slot++) {
      const filled = random.bytes(bytes);
      model.push(filled.slice());
      for (const memory of both) memory.slot(slot).set(filled);
    }
    const programs = both.map((memory) => new BlockProgram(memory));
    for (let sum = 0; sum < 20; sum++) {
      const target = random.below(slots);
      const replaces = random.below(3) === 0;
      const sources = Array.from({ length: 1 + random.below(12) }, () => random.below(slots)).filter(
        (slot) => slot !== target,
      );
      if (sources.length === 0) continue;
      for (const program of programs) {
        program.target(target, replaces);
        for (const source of sources) program.source(source);
      }
      if (replaces) model[target].fill(0);
      for (const source of sources) for (let i = 0; i < bytes; i++) model[target][i] ^= model[source][i];
    }
    for (const program of programs) program.finish();
    for (const memory of both)
      for (let slot = 0; slot < slots; slot++) expect(memory.slot(slot)).toEqual(model[slot]);
  }
});

test('a sum of more sources than a program has words is cut into several', () => {
  for (const kernel of ['wasm', 'javascript'] as const) {
    const memory = makeBlocks(16, 3, kernel);
    memory.slot(0).fill(9);
    memory.slot(1).fill(1);
    memory.slot(2).fill(2);
    const program = new BlockProgram(memory);
    program.target(0, true);
    for (let i = 0; i < 2 * PROGRAM_WORDS + 1; i++) program.source(1 + (i & 1));
    program.finish();
    // An odd number of ones, and an even number of twos.
    expect(memory.slot(0)).toEqual(new Uint8Array(16).fill(1));
    expect(program.sums).toBe(2 * PROGRAM_WORDS + 1);
  }
});

test('reserve keeps what slots hold', () => {
  for (const kernel of ['wasm', 'javascript'] as const) {
    const memory = makeBlocks(16, 1, kernel);
    memory.slot(0).fill(5);
    memory.reserve(10_000);
    expect(memory.slot(0)).toEqual(new Uint8Array(16).fill(5));
    memory.slot(9999).fill(6);
    expect(memory.slot(9999)[15]).toBe(6);
  }
});

test('makeBlocks refuses a kernel that does not exist', () => {
  expect(() => makeBlocks(16, 1, 'native' as 'wasm')).toThrow('got native');
});
