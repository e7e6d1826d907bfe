/** The plan in numbers. `data-value` has each number unrounded, for tests and for scripts. */

import type { Plan, PlanBinding } from 'bloomery/math';
import { bytesText, countText, rateText, shortNumber } from '../page/number-text.ts';
import type { PlanState } from './plan-state.ts';

const BINDINGS: Record<PlanBinding, string> = {
  falsePositiveRate: 'The rate: a higher one would need fewer bits.',
  bits: 'The memory: more bits would lower the rate.',
  hashes: 'The number of hash functions that you chose.',
  maxHashes: 'The largest number of hash functions.',
  maxBits: 'The memory limit: more of it would make messages smaller or the rate lower.',
  transmissionBits: 'The size of the message: a larger one would lower the rate.',
  maxMessageBytes: 'The size of the message.',
};

export function PlanNumbers({ found, state }: { found: Plan; state: PlanState }) {
  const delta = found.expectedDeltaBits;
  return (
    <section class="numbers" aria-label="The plan" aria-live="off">
      <dl>
        <Fact name="bits" label="Bits, m" value={found.bits} text={countText(found.bits)} />
        <Fact name="hashes" label="Hash functions, k" value={found.hashes} text={String(found.hashes)} />
        <Fact
          name="falsePositiveRate"
          label="True rate"
          value={found.falsePositiveRate}
          text={rateText(found.falsePositiveRate)}
        />
        <Fact
          name="bitsPerKey"
          label="Bits per key"
          value={found.bitsPerKey}
          text={shortNumber(found.bitsPerKey)}
        />
        <Fact name="memoryBytes" label="Memory" value={found.bits / 8} text={bytesText(found.bits / 8)} />
        <Fact
          name="expectedTransmissionBits"
          label="Whole message, on average"
          value={found.expectedTransmissionBits}
          text={bytesText(found.expectedTransmissionBits / 8)}
        />
        {delta === undefined ? null : (
          <Fact
            name="expectedDeltaBits"
            label={`Update, ${rateText(state.changed)} replaced`}
            value={delta}
            text={bytesText(delta / 8)}
          />
        )}
        {found.transmissionBytesAtConfidence === undefined ? null : (
          <Fact
            name="transmissionBytesAtConfidence"
            label="Fits, with 99 % probability, into"
            value={found.transmissionBytesAtConfidence}
            text={bytesText(found.transmissionBytesAtConfidence)}
          />
        )}
        <Fact
          name="expectedFill"
          label="Share of ones"
          value={found.expectedFill}
          text={rateText(found.expectedFill)}
        />
        <Fact
          name="overheadOverLowerBound"
          label="Compared with the least possible"
          value={found.overheadOverLowerBound}
          text={`${found.overheadOverLowerBound.toFixed(2)} times`}
        />
      </dl>
      <p class="binding">
        <strong>What holds it back:</strong> {BINDINGS[found.binding]}
      </p>
      {found.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </section>
  );
}

function Fact({ name, label, value, text }: { name: string; label: string; value: number; text: string }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd data-fact={name} data-value={String(value)}>
        {text}
      </dd>
    </div>
  );
}
