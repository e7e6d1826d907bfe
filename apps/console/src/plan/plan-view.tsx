/**
 * Plan: the four trade-offs as plots whose points can be moved, the plan in numbers, and the lines
 * to copy. Every number is `plan()` of the library on the request that the state stands for.
 */

import { useMemo, useRef, useState } from 'preact/hooks';
import { CopyLine } from '../page/copy-line.tsx';
import { rateText, shortNumber } from '../page/number-text.ts';
import { Plot } from '../plotting/plot.tsx';
import { registerView, type ViewProps } from '../shell/view-registry.ts';
import { AmountField } from './amount-field.tsx';
import { changedPlot, hashesPlot, memoryPlot, ratePlot } from './plan-curves.ts';
import { buildLine, codeLine, planLine } from './plan-lines.ts';
import { PlanNumbers } from './plan-numbers.tsx';
import {
  FIGURES,
  FIRST_STATE,
  type FigureName,
  type Goal,
  LIMITS,
  type PlanState,
  planOf,
  readPlanState,
  writePlanState,
} from './plan-state.ts';

const GOALS: readonly [Goal, string][] = [
  ['memory', 'memory'],
  ['transmission', 'the whole message'],
  ['delta', 'its updates'],
];
const FIGURE_NAMES: readonly [FigureName, string][] = [
  ['compressed-1', 'Compressed, figure 1'],
  ['compressed-2', 'Compressed, figure 2'],
  ['tutorial-1', 'Tutorial, figure 1'],
  ['tutorial-2', 'Tutorial, figure 2'],
];
const BUDGETS: Record<Goal, string> = {
  memory: 'Memory, bits per key',
  transmission: 'Message, bits per key',
  delta: 'Update, bits per key',
};

function PlanView({ parameters, keep }: ViewProps) {
  const [state, setState] = useState(() => readPlanState(parameters));
  const result = useMemo(() => planOf(state), [state]);
  // Two keys may come before the next drawing, so a change builds on the last one.
  const last = useRef(state);
  const change = (part: Partial<PlanState>) => {
    const next = { ...last.current, figure: null, ...part };
    last.current = next;
    setState(next);
    keep(writePlanState(next));
  };
  return (
    <div class="plan">
      <section class="controls" aria-label="What you know">
        <fieldset>
          <legend>What is scarce?</legend>
          {GOALS.map(([goal, text]) => (
            <label key={goal} class="choice">
              <input
                type="radio"
                name="goal"
                checked={state.goal === goal}
                onChange={() => change({ goal })}
              />
              {text}
            </label>
          ))}
        </fieldset>
        <AmountField
          name="capacity"
          label="Keys, n"
          value={state.capacity}
          limits={LIMITS.capacity}
          isWhole
          change={(capacity) => change({ capacity, figure: state.figure })}
        />
        <GivenFields state={state} change={change} />
        {state.goal === 'memory' ? null : (
          <AmountField
            name="limit"
            label="At most in memory, bits per key"
            value={state.limit}
            limits={LIMITS.limit}
            change={(limit) => change({ limit })}
          />
        )}
        <AmountField
          name="changed"
          label="Keys replaced between two messages, %"
          value={state.changed}
          limits={LIMITS.changed}
          scale={100}
          change={(changed) => change({ changed })}
        />
        <div class="row">
          <AmountField
            name="hashes"
            label="Hash functions, k"
            value={state.hashes ?? ('plan' in result ? result.plan.hashes : 1)}
            limits={LIMITS.hashes}
            isWhole
            isLinear
            change={(hashes) => change({ hashes, figure: state.figure })}
          />
          <button
            type="button"
            disabled={state.hashes === null}
            onClick={() => change({ hashes: null, figure: state.figure })}
          >
            {state.hashes === null ? 'Best k is chosen' : 'Choose the best k'}
          </button>
        </div>
        <fieldset class="figures">
          <legend>Figures of the papers</legend>
          {FIGURE_NAMES.map(([name, text]) => (
            <button
              key={name}
              type="button"
              aria-pressed={state.figure === name}
              onClick={() => change(FIGURES[name])}
            >
              {text}
            </button>
          ))}
          <button type="button" onClick={() => change(FIRST_STATE)}>
            Start again
          </button>
        </fieldset>
      </section>
      {'plan' in result ? (
        <>
          <PlanNumbers found={result.plan} state={state} />
          <Lines state={state} found={result.plan} />
          <Plots state={state} found={result.plan} change={change} />
        </>
      ) : (
        <div class="notice" role="alert" data-problem>
          <p>{result.problem}</p>
          <p>Give it more bits, a higher rate, or let the page choose the best k.</p>
        </div>
      )}
    </div>
  );
}

type Change = (part: Partial<PlanState>) => void;
type Found = Parameters<typeof ratePlot>[1];

function GivenFields({ state, change }: { state: PlanState; change: Change }) {
  return (
    <fieldset class="given">
      <legend>Which one do you know?</legend>
      <label class="choice">
        <input
          type="radio"
          name="given"
          checked={state.given === 'rate'}
          onChange={() => change({ given: 'rate' })}
        />
        the rate
      </label>
      <label class="choice">
        <input
          type="radio"
          name="given"
          checked={state.given === 'budget'}
          onChange={() => change({ given: 'budget' })}
        />
        the budget
      </label>
      {state.given === 'rate' ? (
        <AmountField
          name="rate"
          label="Rate of false positives, %"
          value={state.rate}
          limits={LIMITS.rate}
          scale={100}
          change={(rate) => change({ rate })}
        />
      ) : (
        <AmountField
          name="budget"
          label={BUDGETS[state.goal]}
          value={state.budget}
          limits={LIMITS.budget}
          change={(budget) => change({ budget })}
        />
      )}
    </fieldset>
  );
}

function Lines({ state, found }: { state: PlanState; found: Found }) {
  return (
    <section class="lines" aria-label="Lines to copy">
      <CopyLine label="TypeScript" line={codeLine(state, found)} />
      <CopyLine label="Build it in a shell" line={buildLine(found)} />
      <CopyLine label="The same plan in a shell" line={planLine(state)} />
    </section>
  );
}

function Plots({ state, found, change }: { state: PlanState; found: Found; change: Change }) {
  const hashes = hashesPlot(state, found);
  const rate = ratePlot(state, found);
  const memory = memoryPlot(state, found);
  const changed = changedPlot(state, found);
  const percent = rateText(found.falsePositiveRate);
  const bits = shortNumber(found.bitsPerKey);
  const held = state.goal === 'memory' ? found.bitsPerKey : state.limit;
  const delta = found.expectedDeltaBits;
  return (
    <section class="plots" aria-label="Plots">
      <Plot
        title="Hashes and rate"
        summary={`The plan has ${found.hashes} hash functions and a rate of ${percent}`}
        {...hashes}
        handle={{
          label: 'Hash functions',
          x: found.hashes,
          y: found.falsePositiveRate,
          text: `${found.hashes} hash functions: ${percent}`,
          least: LIMITS.hashes[0],
          most: LIMITS.hashes[1],
          step: (x, steps) => x + steps,
          move: (x) => change({ hashes: Math.round(x), figure: state.figure }),
        }}
      />
      <Plot
        title="Rate and memory"
        summary={`At ${percent} the plan has ${bits} bits per key`}
        {...rate}
        handle={{
          label: 'Rate of false positives',
          x: found.falsePositiveRate,
          y: found.bitsPerKey,
          text: `${percent}: ${bits} bits per key`,
          least: LIMITS.rate[0],
          most: LIMITS.rate[1],
          step: (x, steps) => rounded(x * 1.05 ** steps),
          move: (x) =>
            change({
              given: 'rate',
              rate: rounded(x),
              figure: state.figure === 'tutorial-2' ? state.figure : null,
            }),
        }}
      />
      <Plot
        title="Memory and transmission"
        summary={`The plan holds ${bits} bits per key and sends ${shortNumber(found.transmissionBitsPerKey)}`}
        {...memory}
        handle={{
          label: state.goal === 'memory' ? 'Memory, bits per key' : 'Most memory, bits per key',
          x: held,
          y: state.goal === 'memory' ? found.transmissionBitsPerKey : null,
          text: `${shortNumber(held)} bits per key`,
          least: LIMITS.limit[0],
          most: Math.min(LIMITS.budget[1], memory.x.to),
          step: (x, steps) => rounded(x * 1.02 ** steps),
          move: (x) =>
            change(state.goal === 'memory' ? { given: 'budget', budget: rounded(x) } : { limit: rounded(x) }),
        }}
      />
      <Plot
        title="Changes and transmission"
        summary={`With ${rateText(state.changed)} of the keys replaced, an update takes less than a whole message`}
        {...changed}
        handle={{
          label: 'Keys replaced between two messages',
          x: state.changed,
          y: delta === undefined ? null : delta / found.capacity,
          text: rateText(state.changed),
          least: LIMITS.changed[0],
          most: LIMITS.changed[1],
          step: (x, steps) => rounded(x * 1.05 ** steps),
          move: (x) => change({ changed: rounded(x), figure: state.figure }),
        }}
      />
    </section>
  );
}

/** Three digits, so that addresses and lines to copy stay short. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

registerView('plan', PlanView);
