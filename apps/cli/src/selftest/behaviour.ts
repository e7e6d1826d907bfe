/** Checks of behaviour: the two kernels agree, and rates are as expected. */

import { kernelInUse, useKernel } from 'bloomery';
import { askerOf } from '../checking/ask.ts';
import { formatRate } from '../terminal/format-values.ts';
import { isKept, judge, subjectOf } from '../verifying/filter-verdict.ts';
import { randomKeys } from '../verifying/random-keys.ts';
import { asFile, SAMPLES } from './sample-filters.ts';
import { assert, assertSameBytes, type SelfCheck, Skipped } from './self-check.ts';

export const BEHAVIOUR_CHECKS: readonly SelfCheck[] = [
  { name: 'WebAssembly and JavaScript agree', run: checkKernels },
  ...ratedSamples().map((name) => ({ name: `rate: ${name}`, run: () => checkRate(name) })),
];

function checkKernels(): string {
  try {
    useKernel('wasm');
  } catch (error) {
    throw new Skipped((error as Error).message);
  }
  try {
    const [strangers] = randomKeys(KEYS, 1);
    let answers = 0;
    for (const [name, make] of Object.entries(SAMPLES)) {
      const run = (kernel: 'wasm' | 'javascript') => {
        useKernel(kernel);
        const file = asFile(name, make(KEYS));
        return { frame: file.frame, answers: askerOf(file).ask(strangers) };
      };
      const [inWasm, inScript] = [run('wasm'), run('javascript')];
      assertSameBytes(inWasm.frame, inScript.frame, `${name}: the frames of the two kernels`);
      assertSameBytes(inWasm.answers, inScript.answers, `${name}: the answers of the two kernels`);
      answers += inWasm.answers.length;
    }
    return `${Object.keys(SAMPLES).length} frames and ${answers.toLocaleString('en-US')} answers are the same`;
  } finally {
    useKernel('auto');
  }
}

/** The samples whose rate follows from their contents. */
function ratedSamples(): string[] {
  return Object.keys(SAMPLES).filter((name) => name !== 'heavy hitters');
}

function checkRate(name: string): string {
  const subject = subjectOf(asFile(name, SAMPLES[name](KEYS)));
  let wrong = 0;
  for (const chunk of randomKeys(TRIALS, 2)) wrong += subject.countWrong(chunk);
  const verdict = judge(subject, TRIALS, wrong);
  const expected = verdict.estimated
    ? `${formatRate(verdict.estimated.rate)} expected`
    : `at most ${formatRate(verdict.promised?.rate ?? 0)} promised`;
  const measured = `${formatRate(wrong / TRIALS)} measured, ${expected}`;
  assert(isKept(subject, verdict), `${measured}: more than 5 sigma apart`);
  return measured;
}

/** Name of the kernel in use. */
export function kernel(): string {
  return kernelInUse() === 'wasm' ? 'WebAssembly' : 'JavaScript';
}

const KEYS = 5000;
const TRIALS = 131_072;
