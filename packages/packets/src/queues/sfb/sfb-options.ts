/**
 * The two named variants of stochastic fair Blue, as complete sets of parameters.
 *
 * `linux` has the parameters and defaults of net/sched/sch_sfb.c: eight levels of 16 bins, a large
 * step up (0.1 %) and a small one down (1/6000), a hard limit for a bin (`max`), and drops instead
 * of marks when the probability is above one half.
 *
 * `survey` is the text of Broder and Mitzenmacher, 7.2: k counters of one counting Bloom filter,
 * and one step δ up and down. It has no `max` and no rule at one half, because the text has none.
 */

import type { SecretKey } from 'bloomery';
import type { BinShape } from '../flow-places.ts';
import type { Draw, QueueLimits } from '../packet-queue.ts';
import type { BinRules } from './bin-set.ts';
import type { Punishment } from './penalty-box.ts';

/** Settings that both variants have. */
interface CommonOptions extends QueueLimits {
  /** Treatment of flows that do not respond. Default: one bucket for all, 10 packets/s. */
  readonly punishment?: Punishment;
  /** Time between two changes of the hash function; 0: never. Default 600 s. */
  readonly rehashMs?: number;
  /** Time for which new bins learn before they decide. Default 60 s. */
  readonly warmUpMs?: number;
  readonly random: Draw;
  /** A new secret key, for a new hash function. It must not be guessed by senders. */
  readonly nextKey: () => SecretKey;
}

/** Names as in `tc qdisc … sfb`, where they exist. */
export interface LinuxSfbOptions extends CommonOptions {
  /** Default 8. */
  readonly levels?: number;
  /** Bins of each level. Default 16. */
  readonly bins?: number;
  /** Packets in a bin from which its probability rises (`target`). Default 20. */
  readonly target?: number;
  /** Packets in all bins of a flow from which its packets are dropped. Default 25. */
  readonly max?: number;
  /** Default 0.001. */
  readonly increment?: number;
  /** Default 1/6000. */
  readonly decrement?: number;
}

export interface SurveySfbOptions extends CommonOptions {
  /** Counters of the filter, m. */
  readonly counters: number;
  /** Counters of a flow, k. */
  readonly hashes: number;
  /** Packets of a counter from which its probability rises. */
  readonly threshold: number;
  /** The step of a probability, up and down. */
  readonly delta: number;
  /** The probability from which a flow is punished. Default 1. */
  readonly punishFrom?: number;
}

/** All that the queue needs to know. */
export interface SfbRules extends Required<CommonOptions> {
  readonly variant: 'linux' | 'survey';
  readonly shape: BinShape;
  readonly bin: BinRules;
  readonly max: number;
  readonly punishFrom: number;
  /** Whether a part of the marks becomes drops above a probability of one half. */
  readonly dropsAboveHalf: boolean;
  /** Whether the bins learn from packets that find the queue full. */
  readonly learnsWhenFull: boolean;
}

const LINUX_PUNISHMENT: Punishment = { kind: 'shared-bucket', penaltyRate: 10, penaltyBurst: 20 };

export function linuxRules(options: LinuxSfbOptions): SfbRules {
  const { levels = 8, bins = 16, target = 20, max = 25, increment = 0.001, decrement = 1 / 6000 } = options;
  return checked({
    ...common(options),
    variant: 'linux',
    shape: { kind: 'levels', levels, bins },
    bin: { binSize: target, increment, decrement },
    max,
    punishFrom: 1,
    dropsAboveHalf: true,
    learnsWhenFull: false,
  });
}

export function surveyRules(options: SurveySfbOptions): SfbRules {
  const { counters, hashes, threshold, delta, punishFrom = 1 } = options;
  return checked({
    ...common(options),
    variant: 'survey',
    shape: { kind: 'filter', counters, hashes },
    bin: { binSize: threshold, increment: delta, decrement: delta },
    max: Infinity,
    punishFrom,
    dropsAboveHalf: false,
    learnsWhenFull: true,
  });
}

function common({
  punishment = LINUX_PUNISHMENT,
  rehashMs = 600_000,
  warmUpMs = 60_000,
  limitPackets = Infinity,
  limitBytes = Infinity,
  random,
  nextKey,
}: CommonOptions): Required<CommonOptions> {
  return { punishment, rehashMs, warmUpMs, limitPackets, limitBytes, random, nextKey };
}

/** Bins that one set may have: 16 MiB of memory in all. */
const MOST_BINS = 2 ** 20;
const MOST_HASHES = 64;

function checked(rules: SfbRules): SfbRules {
  const { shape, bin, max, punishFrom, rehashMs, warmUpMs } = rules;
  const [count, range] =
    shape.kind === 'levels' ? [shape.levels, shape.bins] : [shape.hashes, shape.counters];
  const cells = shape.kind === 'levels' ? count * range : range;
  const isWhole = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
  if (!(isWhole(count, MOST_HASHES) && isWhole(range, MOST_BINS) && cells <= MOST_BINS)) {
    throw new RangeError(
      `Cannot make an SFB queue: expected 1 to ${MOST_HASHES} bins per flow of at most ${MOST_BINS} in all, got ${count} and ${cells}`,
    );
  }
  const isShare = (value: number) => value > 0 && value <= 1;
  if (!(bin.binSize >= 1 && max >= bin.binSize && isShare(bin.increment) && isShare(bin.decrement))) {
    throw new RangeError(
      `Cannot make an SFB queue: expected a bin of at least 1 packet, a limit of at least that, and steps from 0 to 1, got ${bin.binSize}, ${max}, ${bin.increment} and ${bin.decrement}`,
    );
  }
  const warmsUpInTime = rehashMs === 0 || (warmUpMs >= 0 && warmUpMs <= rehashMs);
  if (!(isShare(punishFrom) && rehashMs >= 0 && warmsUpInTime)) {
    throw new RangeError(
      `Cannot make an SFB queue: expected a probability from 0 to 1 and a warm-up of at most the time between changes, got ${punishFrom}, ${warmUpMs} ms and ${rehashMs} ms`,
    );
  }
  return rules;
}
