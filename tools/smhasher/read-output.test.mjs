import { expect, test } from 'vitest';
import { pageOf, readOutput } from './read-output.mjs';

const GOOD = `--- Testing Forge64
Verification value CE 0xEB6DA71F ...... PASS
Elapsed: 0.000092 seconds\t[Sanity\tImplementation verification]

Testing all collisions (high  38-bit) - Expected      107.5, actual        121  (1.126x) (^ 3) !
Elapsed: 9.075201 seconds\t[Zeroes]


Verification value is 0x00000001 - Testing took 9.08 seconds
`;
const BAD = `Keyset 'SeedBlockLen' - 15-byte keys
Testing all collisions (      64-bit) - Expected        0.0, actual        517  (1.0x) (^99) !!!!!
Elapsed: 4.344649 seconds\t[SeedBlockLen\t15]

Keyset 'SeedBlockLen' - 16-byte keys
Elapsed: 3.379961 seconds\t[SeedBlockLen\t16]

Verification value is 0x00000001 - Testing took 7.7 seconds
`;

test('readOutput counts tests, and a warning is no failure', () => {
  expect(readOutput(GOOD)).toEqual({ tests: 2, failed: [], seconds: 9.08, verification: 'EB6DA71F' });
});

test('readOutput names the tests that failed', () => {
  expect(readOutput(BAD)).toEqual({ tests: 2, failed: ['15'], seconds: 7.7, verification: null });
});

test('readOutput gives nothing for a run that was interrupted', () => {
  expect(readOutput(BAD.slice(0, -60))).toBeNull();
});

test('pageOf shows passes, failures and groups that were not run', () => {
  const hashes = {
    Forge64: { A: readOutput(GOOD), B: null },
    'XXH-64': { A: readOutput(GOOD), B: readOutput(BAD) },
  };
  expect(pageOf(['About.'], ['A', 'B'], hashes)).toBe(`# Hashes in SMHasher3

About.

|  | Forge64 | XXH-64 |
| --- | --- | --- |
| verification value | EB6DA71F | EB6DA71F |
| A | 2 passed | 2 passed |
| B | not run | **1 of 2 failed**: 15 |
| all | 2 of 2 passed, 1 of 2 groups run | 3 of 4 passed, 2 of 2 groups run |
`);
});
